"""The runs that a member has begun, so that no mask hides two payloads and no total is differenced.

Masks follow from the plan, so a plan with masks is begun once: without its journal it is refused.
If two runs with different members sum the same quantities, their totals differ by what the members
in only one of them have contributed. That cannot be prevented, as a plan is everybody's choice; but
it is said before anybody joins, and both runs must not start at the same point.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from grassvine.foundations.documents import parse_json
from grassvine.foundations.errors import Option, OutputError, PlanError
from grassvine.foundations.files import write_whole
from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.peers.plan.secrecy import MASKED

FOLDER = "begun"  # within the private folder


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that this member has begun.

    Attributes
    ----------
    plan : str
        The digest of the plan.
    catalogue : str
        A digest of what the run is about: kind and catalogue.
    seed : int
    members : tuple of str
        Their names; a member that renews its identity keeps its name and data.
    """

    plan: str
    catalogue: str
    seed: int
    members: tuple[str, ...]

    @classmethod
    def of(cls, plan: GroupPlan) -> "Begun":
        """Return the note of a plan."""
        learning = plan.learning
        about = json.dumps([learning.kind, learning.target, learning.task, *learning.catalogue])
        return cls(
            plan.digest.hex(),
            hashlib.sha256(about.encode()).hexdigest(),
            plan.seed,
            tuple(one.name for one in plan.members),
        )


def differencing(plan: GroupPlan, folder: Path) -> list[str]:
    """Return what the totals of a plan reveal together with those of earlier runs.

    Raises :class:`PlanError` if both would start at the same point, and sums are masked.
    """
    own, warnings = Begun.of(plan), []
    for earlier in _notes(folder):
        differing = sorted(set(own.members) ^ set(earlier.members))
        if earlier.plan == own.plan or earlier.catalogue != own.catalogue or not differing:
            continue
        names = ", ".join(differing)
        if earlier.seed == own.seed and plan.secrecy == MASKED:
            raise PlanError(
                f"an earlier run with other members ({names}) has started at the same point, where "
                "the difference of the totals is the part of these members; draft the plan with "
                "another ",
                Option("seed"),
                ".",
            )
        warnings.append(
            "WARNING: an earlier run of this house had other members. Whoever takes part in both "
            f"can subtract the totals, and learns those of {names} alone: the counts, means and "
            "moments before the fit exactly."
        )
    return warnings


def refuse_lost_journal(plan: GroupPlan, folder: Path, journal: Path) -> None:
    """Refuse a run with masks that had begun and has lost its journal."""
    if plan.secrecy == MASKED and _path(plan, folder).exists() and not journal.exists():
        raise PlanError(
            "this plan was begun before, and its journal is gone: its masks would hide a second "
            "payload, and the difference of both would be visible; draft a new plan, with another ",
            Option("seed"),
            ".",
        )


def note_begin(plan: GroupPlan, folder: Path) -> None:
    """Note that a run begins, when its journal is there."""
    note = _path(plan, folder)
    try:
        note.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as cause:
        raise OutputError(
            f"{note.parent} cannot be created ({cause.strerror}); free disk space, or mend the "
            "private folder."
        ) from None
    write_whole(note, json.dumps(asdict(Begun.of(plan))).encode())


def _path(plan: GroupPlan, folder: Path) -> Path:
    return folder / FOLDER / f"{plan.digest.hex()}.json"


def _notes(folder: Path) -> Iterator[Begun]:
    for path in sorted((folder / FOLDER).glob("*.json")):
        try:
            found = parse_json(path.read_text())
            yield Begun(
                str(found["plan"]),
                str(found["catalogue"]),
                int(found["seed"]),
                tuple(map(str, found["members"])),
            )
        except (OSError, ValueError, KeyError, TypeError) as cause:
            raise PlanError(f"{path} is damaged ({cause}); restore it from a copy.") from None
