"""SPEC, Fisher score and FSNM ("RFS") of skfeature-chappers.

python scores.py FOLDER             # X.npy, y.npy; FSNM's W goes to W.npy
"""

import json
import sys
import time
from pathlib import Path

import numpy as np


def main(folder):
    from skfeature.function.similarity_based.fisher_score import fisher_score
    from skfeature.function.similarity_based.SPEC import spec
    from skfeature.function.sparse_learning_based.RFS import rfs

    folder = Path(folder)
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    for line in sys.stdin:
        request = json.loads(line)
        started = time.perf_counter()
        if request["method"] == "FSNM":
            np.save(folder / "W.npy", rfs(X, y, mode="raw", gamma=request["gamma"]))
        elif request["method"] == "SPEC":
            spec(X, mode="raw")
        else:
            fisher_score(X, y)
        print(json.dumps({"seconds": time.perf_counter() - started}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
