"""The loop over slots, shared by the engines that run in one process."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from grassvine.engines.base import TIMETABLE_OVER, EngineResult, attributed
from grassvine.foundations.blas import one_blas_thread
from grassvine.networks.timetable import Timetable
from grassvine.protocol.agent import Agent
from grassvine.protocol.message import Message, checked_message
from grassvine.protocol.report import Observer, StepReport

Result = TypeVar("Result")


class RunAll(Protocol):
    """Function that runs actions, possibly concurrently, and returns their results in order."""

    def __call__(self, actions: Sequence[Callable[[], Result]], /) -> Iterable[Result]:
        """Run the actions."""
        ...


def run_slots(
    agents: Sequence[Agent], timetable: Timetable, observe: Observer, run_all: RunAll
) -> EngineResult:
    """Run agents slot by slot: create all messages, then update the receivers."""

    def precompute(slot: int) -> None:
        ready = [(agent, agent.precompute(slot)) for agent in agents]
        actions = [precomputation(agent, slot, action) for agent, action in ready if action]
        list(run_all(actions))

    def precomputation(agent: Agent, slot: int, action: Callable[[], None]) -> Callable[[], None]:
        return lambda: attributed(agent, slot, action)

    def outgoing(number: int, slot: int) -> Message:
        agent = agents[number]
        return attributed(agent, slot, lambda: agent.outgoing(slot))

    def run_and_report(actions: Sequence[Callable[[], StepReport]]) -> str | None:
        reasons = [observe(report) for report in run_all(actions)]
        return next((reason for reason in reasons if reason), None)

    def meeting(number: int, slot: int, senders: Sequence[int]) -> Callable[[], StepReport]:
        agent, inbox = agents[number], {sender: messages[sender] for sender in senders}

        def meet() -> StepReport:
            shapes = agent.expected(slot)
            checked = [
                checked_message(message, shapes, sender=sender, slot=slot)
                for sender, message in inbox.items()
            ]
            return agent.meet(slot, checked)

        return lambda: attributed(agent, slot, meet)

    def conclusion(agent: Agent, slot: int) -> Callable[[], StepReport]:
        return lambda: attributed(agent, slot, lambda: agent.conclude(slot))

    slot, reason = 0, None
    with one_blas_thread():
        while slot < timetable.n_slots and not reason:
            inboxes = timetable.inboxes(slot)
            all_senders = {sender for _, senders in inboxes for sender in senders}
            precompute(slot)
            messages = {sender: outgoing(sender, slot) for sender in all_senders}
            meetings = [meeting(receiver, slot, senders) for receiver, senders in inboxes]
            reason = run_and_report(meetings)
            slot += 1
        run_and_report([conclusion(agent, slot) for agent in agents])
    return EngineResult(tuple(agent.state() for agent in agents), slot, reason or TIMETABLE_OVER)
