"""MultiTaskLasso of celer, skglm or scikit-learn: a fit, or a path with warm starts.

    python lasso.py PACKAGE FOLDER      # X.npy or X.npz, Y.npy; answers go to W.npy

All minimise ``||Y - X W - 1 b'||^2 / (2 n) + alpha ||W||_{2,1}``.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def celer(X, Y, alphas, tol):
    if len(alphas) == 1:
        from celer import MultiTaskLasso

        return MultiTaskLasso(alphas[0], tol=tol, max_iter=1_000).fit(X, Y).coef_[None]
    from celer.homotopy import mtl_path

    # The path has no intercept.
    X, Y = np.asfortranarray(X - X.mean(axis=0)), Y - Y.mean(axis=0)
    coefs = mtl_path(X, Y, alphas=alphas, tol=tol, max_iter=1_000)[1]
    return np.moveaxis(coefs, -1, 0)


def skglm(X, Y, alphas, tol):
    from skglm.estimators import MultiTaskLasso

    model = MultiTaskLasso(alphas[0], tol=tol, max_iter=1_000)
    if len(alphas) == 1:
        return model.fit(X, Y).coef_[None]
    coefs = model.path(X, Y, np.array(alphas))[1]
    return np.moveaxis(coefs[:, : X.shape[1]], -1, 0)


def sklearn(X, Y, alphas, tol):
    from sklearn.linear_model import MultiTaskLasso

    model = MultiTaskLasso(tol=tol, max_iter=100_000, warm_start=True)
    return np.stack([model.set_params(alpha=alpha).fit(X, Y).coef_.copy() for alpha in alphas])


def main(package, folder):
    fit = {"celer": celer, "skglm": skglm, "scikit-learn": sklearn}[package]
    folder = Path(folder)
    sparse = (folder / "X.npz").exists()
    X = sp.csc_matrix(sp.load_npz(folder / "X.npz")) if sparse else np.load(folder / "X.npy")
    Y = np.load(folder / "Y.npy")
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        request = json.loads(line)
        started = time.perf_counter()
        coefs = fit(X, Y, request["alphas"], request["tol"])
        seconds = time.perf_counter() - started
        np.save(folder / "W.npy", coefs)
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
