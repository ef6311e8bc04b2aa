"""Frames that arrive again change nothing, however often, and whichever frames they are."""

import asyncio
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from tests.engines.peers.agents import MixingAgent
from tests.engines.peers.certificate_cases import card, numbered, signed
from tests.engines.peers.doubles import MemoryJournal

from grassvine.engines.in_process import run_slots
from grassvine.engines.peers.member import conversation
from grassvine.engines.peers.member.conversation import Agreement
from grassvine.engines.peers.member.events import (
    Connected,
    Disconnect,
    Effect,
    Event,
    Received,
    Send,
)
from grassvine.engines.peers.member.frames import Hello, Refusal
from grassvine.engines.peers.member.member import Limits, Member
from grassvine.engines.peers.transport.driver import run_member
from grassvine.networks import Timetable

IDENTITIES = tuple(numbered(signed(name), number) for number, name in enumerate("abc"))
TIMETABLE = Timetable.from_deliveries(
    3, [[(i, j) for i in range(3) for j in range(3) if i != j]] * 60
)
PLAN, OTHER_PLAN = b"plan".ljust(32), b"other".ljust(32)
TIMEOUT = 120.0


class Repeating:
    """A member to which every frame comes twice, and after it earlier ones at random."""

    def __init__(self, member: Member, replays: int):
        self.member, self.replays = member, replays
        self.earlier: list[Event] = []
        self.n_replayed = 0
        self.random = np.random.default_rng(0)
        self.disconnects: list[Effect] = []

    def start(self) -> Sequence[Effect]:
        return self.member.start()

    def handle(self, event: Event) -> Sequence[Effect]:
        effects = [*self.member.handle(event)]
        if isinstance(event, Received):
            self.earlier.append(event)
            chosen = self.random.integers(len(self.earlier), size=self.replays).tolist()
            for again in (event, *(self.earlier[place] for place in chosen)):
                effects += self.member.handle(again)
                self.n_replayed += 1
        self.disconnects += [one for one in effects if isinstance(one, Disconnect)]
        return effects


def agreement(number: int, plan: bytes = PLAN) -> Agreement:
    return Agreement(number, ["a", "b", "c"], plan, {"seed": plan})


async def run_three(replays: int) -> list[Repeating]:
    """Member 0 listens to 1 and 2, and member 1 to 2."""
    opened = [asyncio.get_running_loop().create_future() for _ in range(2)]

    async def one(number: int) -> Repeating:
        create = partial(MixingAgent, number, TIMETABLE)
        member = Repeating(
            Member(agreement(number), create, TIMETABLE, limits=Limits(grace=5.0)), replays
        )
        neighbours = [
            card(
                IDENTITIES[other],
                f"127.0.0.1:{await opened[other]}" if other < number else None,
            )
            for other in range(3)
            if other != number
        ]
        await run_member(
            member,
            number,
            IDENTITIES[number],
            neighbours,
            MemoryJournal(),
            listen="127.0.0.1:0" if number < 2 else None,
            opened=opened[number].set_result if number < 2 else print,
        )
        return member

    return await asyncio.gather(*(one(number) for number in range(3)))


@pytest.mark.parametrize("replays", [0, 12])
def test_repeated_frames_change_no_bit(replays: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "MAX_CHUNK", 50)  # a message takes several frames
    wanted = run_slots(
        [MixingAgent(number, TIMETABLE) for number in range(3)],
        TIMETABLE,
        lambda report: None,
        lambda actions: [act() for act in actions],
    )
    members = asyncio.run(asyncio.wait_for(run_three(replays), TIMEOUT))
    for found, state in zip(members, wanted.states, strict=True):
        assert found.member.agent.state()["basis"].tobytes() == state["basis"].tobytes()
        assert found.disconnects == []
    assert sum(member.n_replayed for member in members) > (10_000 if replays else 1_000)


def test_the_greeting_of_another_plan_is_refused_with_the_entry_that_differs() -> None:
    members = [
        Member(agreement(number, plan), partial(MixingAgent, number, TIMETABLE), TIMETABLE)
        for number, plan in enumerate((PLAN, OTHER_PLAN))
    ]
    greetings = [
        effect.frame
        for number, member in enumerate(members)
        for effect in member.handle(Connected(1 - number))
        if isinstance(effect, Send)
    ]
    for number, (member, name, other) in enumerate(zip(members, "ba", "ab", strict=True)):
        greeting = greetings[1 - number]
        assert isinstance(greeting, Hello)
        told, closed = member.handle(Received(1 - number, greeting))
        assert isinstance(told, Send) and isinstance(told.frame, Refusal)
        assert f"the plans of {name} and {other} differ in seed" in told.frame.reason
        assert isinstance(closed, Disconnect)
        assert member.slot == 0
