"""A plan, its TOML form, and running it."""

from grassvine.runs.plan import Plan
from grassvine.runs.run import Run, run

__all__ = ["Plan", "Run", "run"]
