"""Estimators that fail, hang or die, for tests of running."""

import os
import signal
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator


class Fickle(BaseEstimator):
    """Fails until the file FICKLE_CURE names exists."""

    def fit(self, X, y):
        if not Path(os.environ["FICKLE_CURE"]).exists():
            raise RuntimeError("not today")
        self.feature_importances_ = np.asarray(X).var(axis=0)
        return self


class Deadly(BaseEstimator):
    """Kills its process, once for every file name in DEADLY that does not exist yet."""

    def fit(self, X, y):
        for name in os.environ["DEADLY"].split(os.pathsep):
            if not Path(name).exists():
                Path(name).touch()
                os.kill(os.getpid(), signal.SIGKILL)
        self.feature_importances_ = np.asarray(X).var(axis=0)
        return self
