"""Options of jobs that choose and configure the engine."""

from dataclasses import dataclass, fields

from grassvine.engines import Engine, RayEngine
from grassvine.estimators.options import ENGINES, as_engine
from grassvine.foundations.errors import Option, PlanError
from grassvine.foundations.options import one_of

RAY = "ray"
RAY_ONLY = {"address", "agents_per_actor", "checkpoints", "resume"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """The name of an engine, and options that only :class:`RayEngine` supports.

    Parameters
    ----------
    checkpoints : str, optional
        ``checkpoint_dir`` of the engine.
    """

    engine: str = "local"
    address: str | None = None
    agents_per_actor: int = 1
    checkpoints: str | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        """Reject options that the engine does not support, before any data are read."""
        one_of("engine", self.engine, ENGINES)
        for field in fields(EngineOptions):
            given = field.name in RAY_ONLY and getattr(self, field.name) != field.default
            if given and self.engine != RAY:
                option = Option(field.name)
                ray = Option("engine", RAY)
                raise PlanError(
                    option, " requires the Ray engine; add ", ray, ", or omit ", option, "."
                )
        if self.resume and self.checkpoints is None:
            folder = Option("checkpoints", "FOLDER")
            raise PlanError(
                Option("resume"), " requires the checkpoints of a run; use ", folder, "."
            )

    def make_engine(self) -> Engine:
        """Return the engine."""
        if self.engine != RAY:
            return as_engine(self.engine)
        return RayEngine(
            self.address,
            agents_per_actor=self.agents_per_actor,
            checkpoint_dir=self.checkpoints,
            resume=self.resume,
        )
