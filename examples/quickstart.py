"""Find the features that three related problems share, from six labels each.

Run it with ``python examples/quickstart.py``.
"""

from time import perf_counter

import numpy as np

from cosift import FSSI, SFMC
from cosift.datasets import make_related_tasks

# Chosen for either method on the seeds 0 to 3 of this generator, with the truth in view; below
# are other seeds. On your data, choose by cross-validation on what is labelled.
METHODS = {
    "SFMC": SFMC(alpha=0.1, beta=0.1, gamma=3.0, unlabeled_weight=0.01),
    "FSSI": FSSI(alpha=3.0, gamma=30.0),
}
SEEDS = range(10, 20)


def draw(seed):
    """Three tasks of 200 samples, 2 labelled in each of 3 classes."""
    return make_related_tasks(labeled=0.03, seed=seed)


def planted(data):
    """What the generator knows about each feature."""
    truth = dict.fromkeys(data.shared.tolist(), "shared")
    for task, features in enumerate(data.private.tolist()):
        truth |= dict.fromkeys(features, f"task {task}")
    return truth


def show_selection(selector, data):
    """The best features for all tasks together and for each."""
    truth = planted(data)
    print(f"\nThe {len(truth)} best features for all tasks, and what was planted")
    print("rank  feature   score  planted    zero coefficients rank by gradient")
    for rank, feature in enumerate(np.argsort(selector.ranking_)[: len(truth)], start=1):
        kind = truth.get(int(feature), "-")
        print(f"{rank:4}  {f'x{feature}':7} {selector.scores_[feature]:7.3f}  {kind}")

    selector.set_params(n_features_to_select=len(data.shared) + data.private.shape[1])
    print("\nThe best for each task (* planted for it)")
    for index, task in enumerate(selector.tasks_):
        best = np.argsort(selector.task_ranking_[index])[: selector.n_features_to_select]
        mine = {"shared", f"task {task}"}
        marked = (f"x{j}{'*' if truth.get(int(j)) in mine else ' '}" for j in best)
        print(f"  task {task}  " + " ".join(f"{name:4}" for name in marked))


def show_certificate(selector, seconds):
    """How far the answer can be from the optimum of its convex problem."""
    relative = selector.dual_gap_ / selector.objective_
    print("\nThe certificate")
    print(f"  objective   {selector.objective_:.8f}")
    print(f"  dual bound  {selector.dual_bound_:.8f}")
    print(f"  gap         {selector.dual_gap_:.1e}  ({relative:.0e} of the objective)")
    print(f"  iterations  {selector.n_iter_}")
    print(f"  time        {seconds:.2f} s")


def compare():
    """How many planted features each method ranks first, on data that tuned neither."""
    print("\nPlanted features among the best 14, from the same labels")
    print("seed  " + "  ".join(f"{name:>5}" for name in METHODS))
    found = []
    for seed in SEEDS:
        data = draw(seed)
        truth = planted(data)
        row = []
        for selector in METHODS.values():
            ranking = selector.fit(data.X, data.y, tasks=data.tasks).ranking_
            row.append(sum(ranking[feature] <= len(truth) for feature in truth))
        print(f"{seed:4}  " + "  ".join(f"{count:5}" for count in row))
        found.append(row)
    print("mean  " + "  ".join(f"{mean:5.1f}" for mean in np.mean(found, axis=0)))


def main():
    data = draw(SEEDS[0])
    n_labeled = int((data.y != -1).sum())
    print(
        f"{data.X.shape[0]} samples of {data.X.shape[1]} features in 3 tasks, {n_labeled} labelled"
    )
    selector = METHODS["SFMC"]
    print(f"{selector}")
    start = perf_counter()
    selector.fit(data.X, data.y, tasks=data.tasks)
    seconds = perf_counter() - start
    show_selection(selector, data)
    show_certificate(selector, seconds)
    compare()


if __name__ == "__main__":
    main()
