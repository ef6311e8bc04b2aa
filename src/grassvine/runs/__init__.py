"""Plans, their TOML form, and runs."""

from grassvine.runs.plan import Plan
from grassvine.runs.run import Run, run

__all__ = ["Plan", "Run", "run"]
