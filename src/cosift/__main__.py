"""``python -m cosift`` is ``cosift``."""

from cosift.cli import app

app(prog_name="cosift")
