from hypothesis import given
from hypothesis import strategies as st

from grassvine.engines.peers.member.steps import Step, Steps
from grassvine.networks import Timetable

N_AGENTS = 4
deliveries = st.tuples(st.integers(0, N_AGENTS - 1), st.integers(0, N_AGENTS - 1)).filter(
    lambda pair: pair[0] != pair[1]
)


@given(st.lists(st.lists(deliveries, unique=True, max_size=5), max_size=8), st.integers(0, 8))
def test_the_steps_are_the_slots_of_the_member(
    slots: list[list[tuple[int, int]]], slot: int
) -> None:
    timetable = Timetable.from_deliveries(N_AGENTS, slots)
    for member in range(N_AGENTS):
        wanted = [
            Step(
                number,
                tuple(sorted(to for sender, to in pairs if sender == member)),
                tuple(sorted(sender for sender, to in pairs if to == member)),
            )
            for number, pairs in enumerate(slots)
            if any(member in pair for pair in pairs)
        ]
        steps = Steps(timetable, member)
        assert list(steps) == wanted
        assert steps[1:] == wanted[1:]
        assert steps.before(slot) == sum(step.slot < slot for step in wanted)
        for other in range(N_AGENTS):
            incoming = [step.slot for step in wanted if other in step.senders]
            outgoing = [step.slot for step in wanted if other in step.receivers]
            assert steps.incoming.get(other, []) == incoming
            assert steps.outgoing.get(other, []) == outgoing
