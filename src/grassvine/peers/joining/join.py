"""Joining a run: everything before the first connection, and the model at the end."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from grassvine.foundations.errors import DataError, Option, PlanError
from grassvine.foundations.files import write_whole
from grassvine.models import Card as ModelCard
from grassvine.models.persistence.files import save
from grassvine.models.persistence.forms import Model
from grassvine.peers.identity.identity import OwnIdentity, default_folder, load_identity
from grassvine.peers.joining.begun import differencing, note_begin, refuse_lost_journal
from grassvine.peers.joining.masks import PairMasks
from grassvine.peers.joining.meetings import FILE as MEETINGS
from grassvine.peers.joining.member_data import OwnTable, Reading, read_member_data
from grassvine.peers.joining.parts import Course, Part, courses_of, n_slots_of, run_parts
from grassvine.peers.plan.group_plan import GroupPlan, differing_entry
from grassvine.peers.plan.secrecy import MASKED
from grassvine.problems.base import Problem
from grassvine.protocol.agent import Agent, State
from grassvine.sums.agent import SumAgent
from grassvine.sums.fixed_point import FixedPointSummation

HELD_OUT, RANKED = "total.held_out", "total.ranked"
RUNS = "runs"  # folder of journals within a private folder
TABLE = "table.sha256"  # file with the digest of the table that a run began with


class RunPeer(Protocol):
    """Runs one member until it has finished, and returns the final state of its agent.

    Parameters
    ----------
    plan : GroupPlan
    identity : OwnIdentity
    create : function
        Creates the agent of this member; called again if it has to be restored.
    course : Timetable or OwnClock
    journal : Path
        The folder of this run, which is there already; a second call with the same one goes on
        where the first was interrupted.
    patience : float
        After so many seconds without an absent neighbour the run ends with an error.
    """

    def __call__(
        self,
        plan: GroupPlan,
        identity: OwnIdentity,
        create: Callable[[], Agent],
        course: Course,
        journal: Path,
        patience: float,
        /,
        *,
        part: Part | None = None,
    ) -> State:
        """Run the member."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A member whose identity, plan and data fit together."""

    plan: GroupPlan
    identity: OwnIdentity
    table: OwnTable

    @property
    def name(self) -> str:
        """The name of the member."""
        return self.identity.card.name

    @property
    def number(self) -> int:
        """The number of the member."""
        return self.plan.number_of(self.name)

    @property
    def journal(self) -> Path:
        """The folder of this run within the private folder."""
        return self.identity.folder / RUNS / self.plan.digest.hex()

    @property
    def n_slots(self) -> int:
        """The number of slots of the run; without a timetable, an own update counts as one."""
        return n_slots_of(courses_of(self.plan, self.number))

    @property
    def warnings(self) -> list[str]:
        """What totals reveal together with those of earlier runs of this member."""
        return differencing(self.plan, self.identity.folder)

    @property
    def meetings(self) -> Path | None:
        """The file with the member's meetings after the run, unless there is a timetable."""
        return self.journal / MEETINGS if self.plan.learning.method.own_clock else None

    def create(self) -> Agent:
        """Create the agent of this member."""
        return create_agent(self.plan, self.identity, self.table.data)


def create_agent(plan: GroupPlan, identity: OwnIdentity, data: Problem) -> Agent:
    """Create the agent of a member, with its masks if the plan asks for them."""
    number = plan.number_of(identity.card.name)
    agent = plan.run_plan.agent(number, data)
    if plan.secrecy == MASKED:
        assert isinstance(agent, SumAgent)
        public = [member.x25519 for member in plan.members]
        masks = PairMasks(plan.digest, identity.x25519, number, public)
        agent.add_up_by(FixedPointSummation(number, len(plan.members), masks))
    return agent


def prepare(
    plan: GroupPlan,
    data: str,
    *,
    folder: Path | None = None,
    reading: Reading | None = None,
    now: datetime | None = None,
) -> Prepared:
    """Check that identity, plan and data fit together.

    Parameters
    ----------
    data : str
        The member's own table.
    folder : Path, optional
        The private folder; by default the one of whichever member has one on this computer.
    now : datetime, optional
        The time at which the certificates must be valid.
    """
    identity = own_identity(plan, folder)
    for member in plan.members:
        member.require_valid(now)
    plan.require_same_timetable()
    return Prepared(plan, identity, read_member_data(plan, data, reading))


def own_identity(plan: GroupPlan, folder: Path | None) -> OwnIdentity:
    """Return the identity of this member, whose card must be in the plan unchanged."""
    if folder is None:
        found = [default_folder(one.name) for one in plan.members]
        here = [one for one in found if one.is_dir()]
        if len(here) != 1:
            names = ", ".join(one.name for one in here) or "none of its members"
            raise PlanError(
                f"this computer has the private folders of {names}; name one with ",
                Option("folder"),
                ".",
            )
        folder = here[0]
    identity = load_identity(folder)
    in_plan = plan.members[plan.number_of(identity.card.name)]
    if in_plan != identity.card:
        own, other = (
            {k: str(v).encode() for k, v in c.as_table().items()} for c in (identity.card, in_plan)
        )
        raise PlanError(
            f"the card of {identity.card.name} in the plan is not its own (it differs in "
            f"{differing_entry(own, other)}); ask whoever drafted the plan to use your card."
        )
    return identity


def run(prepared: Prepared, run_peer: RunPeer, patience: float | None = None) -> State:
    """Run a prepared member, and return the final state of its agent."""
    differencing(prepared.plan, prepared.identity.folder)
    refuse_lost_journal(prepared.plan, prepared.identity.folder, prepared.journal / TABLE)
    try:
        prepared.journal.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as cause:
        raise PlanError(
            f"{prepared.journal} cannot be created ({cause.strerror}); free disk space, or mend "
            "the private folder."
        ) from None
    _require_same_table(prepared)
    note_begin(prepared.plan, prepared.identity.folder)
    plan, identity, journal = prepared.plan, prepared.identity, prepared.journal
    patience = plan.limits.patience if patience is None else patience
    if plan.learning.method.own_clock:
        return run_parts(plan, identity, prepared.table.data, journal, patience, run_peer)
    return run_peer(plan, identity, prepared.create, plan.run_plan.timetable, journal, patience)


def _require_same_table(prepared: Prepared) -> None:
    """Refuse to go on with another table than the run began with: its sums would not fit."""
    path, own = prepared.journal / TABLE, prepared.table.data_hash
    if not path.exists():
        write_whole(path, own.encode())
    elif path.read_bytes() != own.encode():
        raise DataError(
            "the table has changed since this run began; use the table of then, or draft a new "
            "plan, with another seed."
        )


def save_model(
    prepared: Prepared,
    state: State,
    out: Path,
    *,
    private: bool = True,
    overwrite: bool = False,
) -> Model:
    """Save the model of a member; the shared part has the same bytes in all houses."""
    model: Model = prepared.table.data.model(state)
    card = ModelCard(
        f"{prepared.plan.learning.kind} of {len(prepared.plan.members)} members",
        _parameters(prepared.plan),
        metrics(state),
    )
    save(model, out, card, private=private, overwrite=overwrite)
    return model


def metrics(state: State) -> dict[str, float]:
    """Return the common held-out error or nDCG, if anything was held out that is known."""
    if RANKED in state:
        gains, n_users = (float(one) for one in state[RANKED])
        return {"held_out_ndcg_100": gains / n_users} if n_users else {}
    if HELD_OUT not in state:
        return {}
    squared_error, count = (float(one) for one in state[HELD_OUT])
    return {"held_out_rmse": math.sqrt(squared_error / count)} if count else {}


def _parameters(plan: GroupPlan) -> dict[str, Any]:
    """Return what the model was learned with; the same for all members."""
    learning = plan.learning
    task = {} if learning.task is None else {"task": learning.task, "target": learning.target}
    return {
        "plan": plan.digest.hex(),
        "members": ", ".join(member.name for member in plan.members),
        "rank": learning.rank,
        "method": learning.method.name,
        **learning.method.options,
        **task,
        "holdout": learning.holdout,
        "seed": plan.seed,
    }
