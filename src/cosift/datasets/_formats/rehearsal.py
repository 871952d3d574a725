"""Files read once by a process of their own before this one dares to.

Parquet, Arrow, MATLAB and HDF5 files are read by compiled libraries, in which one flipped byte can
end the process: an absurd length aborts it, a wrong offset is a segmentation fault.  No exception
handler survives that, but the parent of the process does.  What a child has read with no more than
this machine's memory the parent can read too, by the same function.

The child runs this file as a script, so it imports nothing of cosift.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["READERS"]

# Seconds for a small file, and bytes a second for a large one: far slower than any disk.
PATIENCE = 60.0
SLOWEST = 10e6


def _parquet(paths: list[str]) -> Any:
    import polars as pl

    return pl.read_parquet(paths, hive_partitioning=False, glob=False)


def _arrow(paths: list[str]) -> Any:
    import polars as pl

    # Unbuffered, for polars goes on reading where the system stands.
    with open(paths[0], "rb", buffering=0) as file:
        # The file format begins with its name; what does not is a stream.
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        return pl.read_ipc(file) if is_file else pl.read_ipc_stream(file)


def _matlab(paths: list[str]) -> Any:
    from scipy.io import loadmat

    return loadmat(paths[0])


def _hdf5(paths: list[str]) -> Any:
    import h5py  # type: ignore[import-untyped]

    def value(item: Any) -> Any:
        if isinstance(item, h5py.Group):
            # Other links could lead to other files.
            here = [name for name in item if isinstance(item.get(name, getlink=True), hard)]
            return {name: value(item[name]) for name in here} | {"": dict(item.attrs)}
        if item.external or item.is_virtual:
            raise ValueError(f"{item.name} refers to other files")
        return item[()], dict(item.attrs)

    hard = h5py.HardLink
    with h5py.File(paths[0], "r") as file:
        return value(file)


READERS: dict[str, Callable[[list[str]], Any]] = {
    "parquet": _parquet,
    "arrow": _arrow,
    "matlab": _matlab,
    "hdf5": _hdf5,
}


def rehearse(kind: str, paths: list[str], size: int, memory: int) -> str:
    """Read files in a child process.

    Parameters
    ----------
    kind : str
        One of `READERS`.
    paths : list of str
        What to read.
    size : int
        Bytes of these files.
    memory : int
        Bytes that reading may take.

    Returns
    -------
    str
        Why they cannot be read, or nothing.
    """
    command = [sys.executable, "-P", __file__, kind, str(memory), *paths]
    try:
        child = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE + size / SLOWEST, check=False
        )
    except subprocess.TimeoutExpired as error:
        return f"reading it takes more than {error.timeout:.0f} s"
    if child.returncode == 0:
        return ""
    if child.returncode < 0:
        return "reading it brings down the library that does"
    return child.stderr.strip().splitlines()[-1]


if __name__ == "__main__":
    kind, memory, *paths = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    try:
        READERS[kind](paths)
    except MemoryError:
        sys.exit("it needs more memory than this machine has")
    except BaseException as error:  # a panic of Rust is no Exception
        sys.exit(str(error).strip().split("\n")[0] or type(error).__name__)
