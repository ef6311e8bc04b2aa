"""What a running member tells about itself, in a file of its private folder."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from grassvine.foundations.documents import parse_json
from grassvine.foundations.errors import DataError
from grassvine.foundations.files import write_whole

FILE = "status.json"
MAX_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Status:
    """Where a member is in a run; times are seconds since 1970.

    Attributes
    ----------
    member, plan : str
        The name of the member, and the digest of the plan.
    pid : int
        The process that wrote this.
    updated : float
    slot, n_slots : int
    state : str
        ``"connecting"``, ``"running"``, ``"waiting"``, ``"finished"`` or ``"stopped"``.
    connected, waiting_for : tuple of str
        Names of neighbours.
    bytes_sent, bytes_received : int
    held_out_error : float or None
        The common root mean square error, once there is one.
    reason : str
        Why it finished or stopped.
    clocks : dict of float by str
        By how many seconds the clocks of neighbours were ahead of the one here.
    """

    member: str
    plan: str
    pid: int
    updated: float
    slot: int
    n_slots: int
    state: str
    connected: tuple[str, ...] = ()
    waiting_for: tuple[str, ...] = ()
    bytes_sent: int = 0
    bytes_received: int = 0
    held_out_error: float | None = None
    reason: str = ""
    clocks: Mapping[str, float] = field(default_factory=dict)

    @property
    def process_lives(self) -> bool:
        """Whether the process that wrote this still runs, as far as this computer can tell."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True

    def as_object(self) -> dict[str, Any]:
        """Return plain values, and whether the process lives."""
        return {**asdict(self), "process_lives": self.process_lives}


_TYPES: dict[str, tuple[type, ...]] = {
    "member": (str,),
    "plan": (str,),
    "pid": (int,),
    "updated": (float, int),
    "slot": (int,),
    "n_slots": (int,),
    "state": (str,),
    "connected": (list,),
    "waiting_for": (list,),
    "bytes_sent": (int,),
    "bytes_received": (int,),
    "held_out_error": (float, int, type(None)),
    "reason": (str,),
    "clocks": (dict,),
}


def write_status(folder: Path, status: Status) -> None:
    """Write the status to a private folder, atomically."""
    write_whole(folder / FILE, json.dumps(asdict(status)).encode())


def read_status(folder: Path) -> Status:
    """Read the status that a member wrote last."""
    path = folder / FILE
    try:
        with path.open("rb") as file:
            document = parse_json(file.read(MAX_BYTES))
    except FileNotFoundError:
        raise DataError(
            f"{folder} has no {FILE}: no run was started with this identity; start one by "
            "'grassvine peer join'."
        ) from None
    except OSError as cause:
        raise DataError(f"{path} cannot be read ({cause.strerror}).") from None
    except ValueError as cause:
        raise DataError(f"{path} is not a status ({cause}); the next run replaces it.") from None
    if not _is_status(document):
        raise DataError(f"{path} is not a status; the next run replaces it.")
    for name in ("connected", "waiting_for"):
        document[name] = tuple(document[name])
    return Status(**document)


def _is_status(document: Any) -> bool:
    if not isinstance(document, dict) or set(document) != {one.name for one in fields(Status)}:
        return False
    names = (
        [*document["connected"], *document["waiting_for"]]
        if all(isinstance(document[name], list) for name in ("connected", "waiting_for"))
        else [None]
    )
    return (
        all(isinstance(name, str) for name in names)
        and all(type(document[name]) in kinds for name, kinds in _TYPES.items())
        and all(type(one) in (float, int) for one in document["clocks"].values())
        and 0 < document["pid"] < 2**31
    )
