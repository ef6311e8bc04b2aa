"""Learn the common subspace of data that many places hold, without bringing the data together.

>>> import grassvine as gv
>>> data = gv.low_rank_ratings(60, 400, rank=3, oversampling=5.0)
>>> problems = [gv.CompletionProblem(part) for part in gv.split_users(data.ratings, 4)]
>>> plan = gv.Plan(n_items=60, rank=3, network=gv.ring(4), method=gv.Gossip(n_slots=400))
>>> result = gv.run(plan, problems)
>>> bool(result.history.final()["mse"].max() < 1e-12)
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grassvine.checks import (
        check_agent,
        check_engine,
        check_geometry,
        check_gradient,
        check_hessian,
        check_problem,
    )
    from grassvine.data import (
        RatingDataset,
        Ratings,
        Tasks,
        low_rank_ratings,
        split_samples,
        split_tasks,
        split_users,
        subspace_tasks,
    )
    from grassvine.engines import (
        LocalEngine,
        Place,
        RayEngine,
        Run,
        ThreadsEngine,
        ray_cluster,
        run,
    )
    from grassvine.geometry import Euclidean, Grassmann
    from grassvine.gossip import (
        EarlyStop,
        Exact,
        Gossip,
        History,
        Plan,
        StepSize,
        descend,
        parallel,
        precon_parallel,
        precon_stochastic,
        stochastic,
    )
    from grassvine.network import (
        AllEdges,
        Matchings,
        Network,
        OneEdge,
        complete,
        erdos_renyi,
        exponential,
        from_edges,
        from_networkx,
        grid,
        path,
        ring,
        star,
    )
    from grassvine.problems import (
        CompletionProblem,
        CustomProblem,
        MultitaskProblem,
        PCAProblem,
        completion_problems,
    )

__version__ = "0.1.0.dev0"

__all__ = [
    "AllEdges",
    "CompletionProblem",
    "CustomProblem",
    "EarlyStop",
    "Euclidean",
    "Exact",
    "Gossip",
    "Grassmann",
    "History",
    "LocalEngine",
    "Matchings",
    "MultitaskProblem",
    "Network",
    "OneEdge",
    "PCAProblem",
    "Place",
    "Plan",
    "RatingDataset",
    "Ratings",
    "RayEngine",
    "Run",
    "StepSize",
    "Tasks",
    "ThreadsEngine",
    "check_agent",
    "check_engine",
    "check_geometry",
    "check_gradient",
    "check_hessian",
    "check_problem",
    "complete",
    "completion_problems",
    "descend",
    "erdos_renyi",
    "exponential",
    "from_edges",
    "from_networkx",
    "grid",
    "low_rank_ratings",
    "parallel",
    "path",
    "precon_parallel",
    "precon_stochastic",
    "ray_cluster",
    "ring",
    "run",
    "split_samples",
    "split_tasks",
    "split_users",
    "star",
    "stochastic",
    "subspace_tasks",
]

# From the lowest up: a name of a low room is found without the rooms above it.
_ROOMS = (
    "foundations",
    "data",
    "network",
    "geometry",
    "problems",
    "gossip",
    "models",
    "engines",
    "baselines",
    "checks",
    "estimators",
    "report",
)


def __getattr__(name: str) -> Any:
    """Import a room when something of it is first asked for: the command line begins at once."""
    if name in _ROOMS:
        return import_module(f"grassvine.{name}")
    if name in __all__:
        for room in _ROOMS:
            home = import_module(f"grassvine.{room}")
            if name in getattr(home, "__all__", ()):
                globals()[name] = getattr(home, name)
                return globals()[name]
    raise AttributeError(f"module 'grassvine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
