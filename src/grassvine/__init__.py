"""Decentralised low-rank learning: many parties find a common subspace without pooling their data.

>>> import grassvine as gv
>>> data = gv.datasets.low_rank_ratings(60, 400, rank=3, oversampling=5.0)
>>> problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(data.ratings, 4)]
>>> plan = gv.Plan(n_items=60, rank=3, network=gv.networks.ring(4))
>>> result = gv.run(plan, problems)
>>> bool(result.history.final()["mse"].max() < 1e-12)
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grassvine import (
        averaging,
        baselines,
        checks,
        datasets,
        engines,
        geometry,
        gossip,
        metrics,
        models,
        networks,
        problems,
        protocol,
        report,
        sums,
    )
    from grassvine.data import Ratings, Tasks
    from grassvine.data.stored import RatingDataset
    from grassvine.engines import LocalEngine, RayEngine, ThreadsEngine
    from grassvine.estimators import (
        DecentralizedPCA,
        ImplicitRecommender,
        MatrixCompleter,
        MultitaskRegressor,
    )
    from grassvine.foundations.errors import (
        AgentError,
        BasisError,
        CheckFailed,
        CheckpointError,
        ConvergenceWarning,
        DataError,
        GrassvineError,
        InputError,
        MessageError,
        MissingExtra,
        ModelError,
        NetworkError,
        OutputError,
        PlanError,
        UnknownIdWarning,
    )
    from grassvine.gossip import Gossip, StepSize
    from grassvine.models import load, save
    from grassvine.problems import CompletionProblem, CustomProblem, MultitaskProblem, PCAProblem
    from grassvine.protocol import EarlyStop, History
    from grassvine.runs import Plan, Run, run
    from grassvine.sums import BiasedCompletionProblem, Exact, ImplicitProblem

__version__ = "0.1.0.dev0"

# Public names by defining module; the module is imported when a name is first used.
_NAMES_OF_MODULE = {
    "estimators": (
        "DecentralizedPCA",
        "ImplicitRecommender",
        "MatrixCompleter",
        "MultitaskRegressor",
    ),
    "runs": ("Plan", "Run", "run"),
    "sums": ("BiasedCompletionProblem", "Exact", "ImplicitProblem"),
    "gossip": ("Gossip", "StepSize"),
    "protocol": ("EarlyStop", "History"),
    "problems": ("CompletionProblem", "CustomProblem", "MultitaskProblem", "PCAProblem"),
    "engines": ("LocalEngine", "RayEngine", "ThreadsEngine"),
    "data": ("Ratings", "Tasks"),
    "data.stored": ("RatingDataset",),
    "models": ("load", "save"),
    "foundations.errors": (
        "AgentError",
        "BasisError",
        "CheckFailed",
        "CheckpointError",
        "ConvergenceWarning",
        "DataError",
        "GrassvineError",
        "InputError",
        "MessageError",
        "MissingExtra",
        "ModelError",
        "NetworkError",
        "OutputError",
        "PlanError",
        "UnknownIdWarning",
    ),
}
_MODULE_OF_NAME = {name: module for module, names in _NAMES_OF_MODULE.items() for name in names}
_MODULES = (
    "averaging",
    "baselines",
    "checks",
    "datasets",
    "engines",
    "geometry",
    "gossip",
    "metrics",
    "models",
    "networks",
    "problems",
    "protocol",
    "report",
    "sums",
)

__all__ = [
    "AgentError",
    "BasisError",
    "BiasedCompletionProblem",
    "CheckFailed",
    "CheckpointError",
    "CompletionProblem",
    "ConvergenceWarning",
    "CustomProblem",
    "DataError",
    "DecentralizedPCA",
    "EarlyStop",
    "Exact",
    "Gossip",
    "GrassvineError",
    "History",
    "ImplicitProblem",
    "ImplicitRecommender",
    "InputError",
    "LocalEngine",
    "MatrixCompleter",
    "MessageError",
    "MissingExtra",
    "ModelError",
    "MultitaskProblem",
    "MultitaskRegressor",
    "NetworkError",
    "OutputError",
    "PCAProblem",
    "Plan",
    "PlanError",
    "RatingDataset",
    "Ratings",
    "RayEngine",
    "Run",
    "StepSize",
    "Tasks",
    "ThreadsEngine",
    "UnknownIdWarning",
    "averaging",
    "baselines",
    "checks",
    "datasets",
    "engines",
    "geometry",
    "gossip",
    "load",
    "metrics",
    "models",
    "networks",
    "problems",
    "protocol",
    "report",
    "run",
    "save",
    "sums",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"grassvine.{name}")
    if name in _MODULE_OF_NAME:
        value = getattr(import_module(f"grassvine.{_MODULE_OF_NAME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'grassvine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
