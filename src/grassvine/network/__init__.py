"""Who may talk to whom, and when: agents are numbers here and nothing else."""

from grassvine.network.clocks import PoissonClocks
from grassvine.network.graph import Network
from grassvine.network.recorded import Recorded
from grassvine.network.schedule import AllEdges, Matchings, OneEdge, Schedule
from grassvine.network.shapes import (
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
from grassvine.network.timetable import Timetable
from grassvine.network.varying import Epochs

__all__ = [
    "AllEdges",
    "Epochs",
    "Matchings",
    "Network",
    "OneEdge",
    "PoissonClocks",
    "Recorded",
    "Schedule",
    "Timetable",
    "complete",
    "erdos_renyi",
    "exponential",
    "from_edges",
    "from_networkx",
    "grid",
    "path",
    "ring",
    "star",
]
