"""Where agents run: an engine knows who meets whom, never why."""

from grassvine.engines.base import Engine, Outcome
from grassvine.engines.local import LocalEngine
from grassvine.engines.run import Run, run
from grassvine.engines.threads import ThreadsEngine

__all__ = ["Engine", "LocalEngine", "Outcome", "Run", "ThreadsEngine", "run"]
