"""From raw recordings to feature tables: scikit-learn transformers."""

from cosift.features.bag_of_words import BagOfWords
from cosift.features.codebook import load_codebook, save_codebook
from cosift.features.motion_boundary import MotionBoundaryHistograms
from cosift.features.sift import sift_descriptors
from cosift.features.skeleton import JOINTS, SkeletonFeatures

__all__ = [
    "JOINTS",
    "BagOfWords",
    "MotionBoundaryHistograms",
    "SkeletonFeatures",
    "load_codebook",
    "save_codebook",
    "sift_descriptors",
]
