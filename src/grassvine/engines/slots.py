"""The loop over slots that engines within one process share."""

from collections.abc import Callable, Iterable, Sequence

from grassvine.engines.base import TIMETABLE_OVER, Outcome, attributed
from grassvine.foundations.blas import one_blas_thread
from grassvine.gossip.agent import Agent
from grassvine.gossip.report import Observer, StepReport
from grassvine.network.timetable import Timetable

# Runs actions, possibly at the same time, and gives their results in order.
RunAll = Callable[[Sequence[Callable[[], StepReport]]], Iterable[StepReport]]


def run_slots(
    agents: Sequence[Agent], timetable: Timetable, observe: Observer, run_all: RunAll
) -> Outcome:
    """Run agents slot by slot: first all messages are made, then the receivers move."""

    def tell(actions: Sequence[Callable[[], StepReport]]) -> str | None:
        reasons = [observe(report) for report in run_all(actions)]
        return next((reason for reason in reasons if reason), None)

    def meeting(number: int, slot: int, senders: Sequence[int]) -> Callable[[], StepReport]:
        agent, inbox = agents[number], [mail[sender] for sender in senders]
        return lambda: attributed(agent, slot, lambda: agent.meet(slot, inbox))

    def ending(agent: Agent, slot: int) -> Callable[[], StepReport]:
        return lambda: attributed(agent, slot, lambda: agent.conclude(slot))

    slot, reason = 0, None
    with one_blas_thread():
        while slot < timetable.n_slots and not reason:
            inboxes = timetable.inboxes(slot)
            writers = {sender for _, senders in inboxes for sender in senders}
            mail = {sender: agents[sender].outgoing(slot) for sender in writers}
            reason = tell([meeting(receiver, slot, senders) for receiver, senders in inboxes])
            slot += 1
        tell([ending(agent, slot) for agent in agents])
    return Outcome(tuple(agent.state() for agent in agents), slot, reason or TIMETABLE_OVER)
