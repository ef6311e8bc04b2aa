"""Plans, their TOML form, and runs."""

from grassvine.runs.plan import Plan
from grassvine.runs.run import ProblemSource, Run, run

__all__ = ["Plan", "ProblemSource", "Run", "run"]
