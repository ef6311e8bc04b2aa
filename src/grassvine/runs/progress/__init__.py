"""The progress of a run: events in its folder, written as it goes on and followed by others."""

from grassvine.runs.progress.events import Begin, End, Event, Incident, Members, Point
from grassvine.runs.progress.log import FILE, ProgressLog
from grassvine.runs.progress.reader import ProgressReader
from grassvine.runs.progress.state import Progress
from grassvine.runs.progress.writer import ProgressWriter

__all__ = [
    "FILE",
    "Begin",
    "End",
    "Event",
    "Incident",
    "Members",
    "Point",
    "Progress",
    "ProgressLog",
    "ProgressReader",
    "ProgressWriter",
]
