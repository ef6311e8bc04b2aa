"""Where agents run, in plain values: which engine, and what only Ray's is told."""

from dataclasses import dataclass, fields

from grassvine.engines import Engine, RayEngine
from grassvine.estimators.options import ENGINES, as_engine
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import one_of

RAY = "ray"
RAY_ONLY = {
    "address": "a cluster is joined",
    "agents_per_actor": "actors are shared",
    "checkpoints": "checkpoints are kept",
    "resume": "a run is resumed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """The name of an engine, and the options of :class:`RayEngine`, which no other engine takes.

    Parameters
    ----------
    checkpoints : str, optional
        The ``checkpoint_dir``.
    """

    engine: str = "local"
    address: str | None = None
    agents_per_actor: int = 1
    checkpoints: str | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        """Refuse what the engine has no use for; best before data are read."""
        one_of("engine", self.engine, ENGINES)
        for field in fields(EngineOptions):
            given = field.name in RAY_ONLY and getattr(self, field.name) != field.default
            if given and self.engine != RAY:
                option = field.name.replace("_", "-")
                raise PlanError(
                    f"{RAY_ONLY[field.name]} by the Ray engine only; add --engine ray, or leave "
                    f"--{option} out."
                )
        if self.resume and self.checkpoints is None:
            raise PlanError(
                "there is nothing to resume from; say with --checkpoints where the run kept them."
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
