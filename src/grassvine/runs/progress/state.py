"""What is known about a run from its events."""

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field

from grassvine.runs.progress.events import Begin, End, Event, Incident, Members, Point, fits

MAX_POINTS = 2000
MAX_INCIDENTS = 200


@dataclass(slots=True)
class Progress:
    """A run as its events tell it.

    Attributes
    ----------
    begin : Begin or None
        The last beginning; None before the first event.
    points : list of Point
        At most ``MAX_POINTS``.
    members : Members or None
        What the agents did last.
    incidents : list of Incident
        At most ``MAX_INCIDENTS``, the first and the last ones.
    n_incidents : int
    end : End or None
        The end, unless the run goes on.
    spacing : float
        The seconds between points, since they were thinned.
    n_thinned : int
        How often.
    """

    begin: Begin | None = None
    points: list[Point] = field(default_factory=list)
    members: Members | None = None
    incidents: list[Incident] = field(default_factory=list)
    n_incidents: int = 0
    end: End | None = None
    spacing: float = 0.0
    n_thinned: int = 0

    def apply(self, event: Event) -> bool:
        """Take an event; return whether the curves were thinned."""
        match event:
            case Begin():
                self.begin, self.members, self.end = event, None, None
            case Point():
                self.points.append(event)
                if len(self.points) >= MAX_POINTS:
                    self._thin()
                    return True
            case Members():
                if self.begin is not None and fits(event, self.begin):
                    self.members = event
            case Incident():
                self.n_incidents += 1
                self.incidents.append(event)
                if len(self.incidents) > MAX_INCIDENTS:
                    del self.incidents[MAX_INCIDENTS // 2]
            case End():
                self.end = event
        return False

    def events(self) -> Iterator[Event]:
        """Yield events that say the same."""
        if self.begin is not None:
            yield self.begin
        yield from self.points
        yield from self.incidents
        if self.members is not None:
            yield self.members
        if self.end is not None:
            yield self.end

    @property
    def updated(self) -> float:
        """The time of the last event."""
        known = [self.begin, self.members, self.end, *self.points[-1:], *self.incidents[-1:]]
        return max((one.time for one in known if one is not None), default=0.0)

    def state(self) -> str:
        """Return ``"waiting"`` before the first event, then ``"running"``, and at last the end.

        ``"killed"`` if the process is gone and has not told an end.
        """
        if self.end is not None:
            return self.end.state
        if self.begin is None:
            return "waiting"
        return "running" if writer_lives(self.begin) else "killed"

    def _thin(self) -> None:
        last = self.points[-1]
        self.points = self.points[:-1:2]
        self.points.append(last)
        self.spacing = (last.time - self.points[0].time) / (MAX_POINTS / 2)
        self.n_thinned += 1


def writer_lives(begin: Begin) -> bool:
    """Return whether the process that writes still runs, as far as this computer can tell."""
    if begin.host != platform.node() or begin.pid < 1:
        return True
    try:
        os.kill(begin.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
