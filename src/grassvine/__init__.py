"""Learn the common subspace of data that many places hold, without bringing the data together.

>>> import grassvine as gv
>>> data = gv.low_rank_ratings(60, 400, rank=3, oversampling=5.0)
>>> problems = [gv.CompletionProblem(part) for part in gv.split_users(data.ratings, 4)]
>>> plan = gv.Plan(n_items=60, rank=3, network=gv.ring(4), method=gv.Gossip(n_slots=400))
>>> result = gv.run(plan, problems)
>>> bool(result.history.final()["mse"].max() < 1e-12)
True
"""

from grassvine.checks import (
    check_agent,
    check_engine,
    check_geometry,
    check_gradient,
    check_hessian,
    check_problem,
)
from grassvine.data import (
    Ratings,
    Tasks,
    low_rank_ratings,
    split_samples,
    split_tasks,
    split_users,
    subspace_tasks,
)
from grassvine.engines import LocalEngine, Run, ThreadsEngine, run
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
    "Plan",
    "Ratings",
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
    "ring",
    "run",
    "split_samples",
    "split_tasks",
    "split_users",
    "star",
    "stochastic",
    "subspace_tasks",
]
