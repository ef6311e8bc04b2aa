"""Communication networks, schedules and timetables; agents are represented by their numbers."""

from grassvine.networks.clocks import PoissonClocks
from grassvine.networks.graph import Network
from grassvine.networks.merging import merge_meetings
from grassvine.networks.recorded import Recorded
from grassvine.networks.schedule import AllEdges, Matchings, OneEdge, Schedule
from grassvine.networks.shapes import (
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
from grassvine.networks.timetable import Timetable
from grassvine.networks.varying import Epochs

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
    "merge_meetings",
    "path",
    "ring",
    "star",
]
