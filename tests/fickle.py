"""An estimator that leaves a trace of every fit, and fails, waits or dies when told to."""

import os
import signal
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_info


class Fickle(BaseEstimator):
    """Scores features by variance.

    Parameters
    ----------
    trace : path
        A file to which every fit adds a line: its process and its threads of BLAS.
    deaths : int
        So many fits, the first, kill their process.
    gate : path, optional
        A file that every fit waits for.
    cure : path, optional
        A file without which every fit fails.
    """

    def __init__(self, trace="", deaths=0, gate="", cure=""):
        self.trace = trace
        self.deaths = deaths
        self.gate = gate
        self.cure = cure

    def fit(self, X, y):
        with Path(self.trace).open("a") as file:
            threads = max(library["num_threads"] for library in threadpool_info())
            file.write(f"{os.getpid()} {threads}\n")
        if len(traces(self.trace)) <= self.deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        while self.gate and not Path(self.gate).exists():
            time.sleep(0.01)
        if self.cure and not Path(self.cure).exists():
            raise RuntimeError("not today")
        self.feature_importances_ = np.asarray(X).var(axis=0)
        return self


def fickle(trace, **settings):
    """The text of a method that makes a `Fickle`."""
    settings = {"trace": trace, **settings}
    pairs = [f"{k}={v if isinstance(v, int) else repr(str(v))}" for k, v in settings.items()]
    return f"fickle:Fickle({', '.join(pairs)})"


def traces(path):
    """Process and threads of every fit so far."""
    path = Path(path)
    lines = path.read_text().splitlines() if path.exists() else []
    return [tuple(map(int, line.split())) for line in lines]


class Luggage:
    """Something that leaves a trace whenever it is packed to travel."""

    def __init__(self, trace):
        self.trace = trace

    def __getstate__(self):
        with Path(self.trace).open("a") as file:
            file.write(f"{os.getpid()} 0\n")
        return self.__dict__


def carry(luggage, item):
    """The item, and where it arrived."""
    assert isinstance(luggage, Luggage)
    return item, os.getpid()


def die(shared, item):
    """End the process."""
    os._exit(1)
