"""One pool of BLAS threads at a time.

The wheels of NumPy and of SciPy each bring a BLAS with threads of its own, which keep spinning for
a while after every call.  Code that goes to and fro between the two has twice as many threads at
work as there are cores, each waiting for those that got none, which can cost many times what a
single thread would take.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_pool() -> AbstractContextManager[Any]:
    """A context in which NumPy's BLAS has all its threads, and one that SciPy brought has one."""
    return _of_scipy().limit(limits=1) if len(_of_scipy()) else nullcontext()


@cache
def _of_scipy() -> ThreadpoolController:
    controller = ThreadpoolController()
    paths = [library["filepath"] for library in controller.info()]
    return controller.select(filepath=[path for path in paths if "scipy.libs" in path])
