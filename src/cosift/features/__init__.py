"""From raw recordings to feature tables: scikit-learn transformers."""

from cosift.features.skeleton import JOINTS, SkeletonFeatures

__all__ = ["JOINTS", "SkeletonFeatures"]
