"""Talk to a script in another environment, so that runs there and here can take turns."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from types import TracebackType
from typing import Any, Self

SCRIPTS = Path(__file__).parent / "peers"


class Peer:
    """A running script of ``benchmarks/peers``, asked by a line of JSON and answering by one.

    Parameters
    ----------
    python : path
        The interpreter of its environment.
    script : str
        Name of the script.
    arguments : str
        What it is called with.
    """

    def __init__(self, python: Path, script: str, *arguments: str) -> None:
        # -P: a benchmark may have the name of a package that the script imports.
        self._process = subprocess.Popen(
            [python, "-P", SCRIPTS / script, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, limit: float, **request: Any) -> dict[str, Any] | None:
        """The answer, or None if it takes longer than so many seconds: then the script is ended."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        print(json.dumps(request), file=process.stdin, flush=True)
        with DefaultSelector() as selector:
            selector.register(process.stdout, EVENT_READ)
            started = time.monotonic()
            if not selector.select(limit):
                self.close()
                return None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"{process.args[2:]} ended after {time.monotonic() - started:.0f} s")
        return dict(json.loads(line))

    def close(self) -> None:
        """End the script."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
