"""What one member without a timetable sends and writes, message by message."""

import math
from collections import Counter, deque
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from tests.engines.peers.agents import SIZE, MixingAgent

from grassvine.engines.peers.member.conversation import OTHER_PART, PART, Agreement
from grassvine.engines.peers.member.events import (
    Compute,
    Computed,
    Connected,
    Disconnect,
    Disconnected,
    Effect,
    Event,
    Fail,
    Persist,
    Persisted,
    Received,
    Send,
    Tick,
)
from grassvine.engines.peers.member.frames import (
    PROTOCOL_VERSION,
    Ack,
    Data,
    Hello,
    Refusal,
    Status,
)
from grassvine.engines.peers.member.member import Limits, Member
from grassvine.engines.peers.member.pairing import Kind, Note
from grassvine.engines.peers.member.records import Record, Sent
from grassvine.engines.peers.member.walk import OwnClock
from grassvine.networks import Timetable
from grassvine.protocol import Message
from grassvine.protocol.message import encode

NO_SLOTS = Timetable.from_meetings(1, [])


def first_of_three() -> Member:
    """A member of three who are linked to each other."""
    agreement = Agreement(0, ["a", "b", "c"], b"p" * 32)
    limits = Limits(patience=100.0)
    return Member(agreement, partial(MixingAgent, 0, NO_SLOTS), OwnClock((1, 2), 5), limits=limits)


class Alone:
    """A member whose computations and writes end at once, and what it sends."""

    def __init__(self, member: Member):
        self.member = member
        self.sent: list[Effect] = []
        self.written: list[Record] = []
        self.perform(member.start())

    def perform(self, effects: Sequence[Effect]) -> None:
        waiting = deque(effects)
        while waiting:
            match waiting.popleft():
                case Compute(ticket, function):
                    waiting += self.member.handle(Computed(ticket, function()))
                case Persist(ticket, records):
                    self.written += records
                    waiting += self.member.handle(Persisted(ticket))
                case effect:
                    self.sent.append(effect)

    def take(self, *events: Event) -> list[Effect]:
        """Handle events and return the effects for others."""
        self.sent.clear()
        for event in events:
            self.perform(self.member.handle(event))
        return list(self.sent)

    def notes(self) -> list[tuple[int, Note]]:
        return [
            (one.neighbour, Note.decode(bytes(one.frame.body)))
            for one in self.sent
            if isinstance(one, Send) and isinstance(one.frame, Data)
        ]


def greeting(number: int, received: int = 0, *, finished: bool = False) -> Received:
    return Received(
        number, Hello(PROTOCOL_VERSION, number, b"p" * 32, received=received, finished=finished)
    )


def frame(sender: int, number: int, note: Note) -> Received:
    payload = note.encode()
    return Received(sender, Data(number, len(payload), 0, payload))


def basis(number: int, updates: int = 0, content: float = 1.0) -> bytes:
    return encode(Message(number, updates, {"x": np.full(SIZE, content)}))


def test_two_members_meet_by_three_messages() -> None:
    alone = Alone(first_of_three())
    alone.take(Connected(1), greeting(1))
    assert [(to, note.kind, note.offer) for to, note in alone.notes()] == [(1, Kind.OFFER, 0)]
    alone.take(frame(1, 0, Note(Kind.ANSWER, 0, 3, basis(1, 3))))
    kinds = [note.kind for _, note in alone.notes()]
    assert kinds == [Kind.AGREED, Kind.OFFER] and alone.member.meetings == [(1, 3)]
    frames = [one.frame for one in alone.sent if isinstance(one, Send)]
    assert any(isinstance(one, Ack) and one.received == 1 for one in frames)


@pytest.mark.parametrize(
    ("note", "says"),
    [
        (Note(Kind.ANSWER, 1, 0, basis(1)), "never made"),
        (Note(Kind.AGREED, 0), "without an answer"),
        (Note(Kind.WITHDRAWN, 0), "never made"),
        (Note(Kind.BUSY, 0, 0, b"more"), "does not belong"),
        (Note(Kind.OFFER, 0, 0, basis(1, content=math.nan)), "contains nan"),
        (Note(Kind.OFFER, 0, 0, basis(1, 1)), "claims to be from agent 1 at slot 1"),
        (Note(Kind.OFFER, 0, 0, basis(2)), "claims to be from agent 2"),
        (Note(Kind.OFFER, 0, 0, b""), "0 bytes"),
        (Note(Kind.OFFER, 0, 0, basis(1)[:-1]), "not valid safetensors"),
        (Note(Kind.OFFER, 0, 0, bytes(10_000)), "at most"),
        (Note(Kind.OFFER, 2, 0, basis(1)), "number of another message"),
    ],
)
def test_a_message_that_must_not_come_ends_the_link_and_changes_nothing(
    note: Note, says: str
) -> None:
    alone = Alone(first_of_three())
    alone.take(Connected(1), greeting(1))
    alone.written.clear()
    ends = [one.reason for one in alone.take(frame(1, 0, note)) if isinstance(one, Disconnect)]
    assert len(ends) == 1 and says in ends[0]
    assert alone.member.meetings == []
    # The offer to a neighbour without a link is withdrawn, and that is all.
    sent = [one for one in alone.written if isinstance(one, Sent)]
    assert sent == alone.written
    assert [Note.decode(one.payload).kind for one in sent] == [Kind.WITHDRAWN]
    alone.take(Connected(1), greeting(1))
    alone.take(frame(1, 0, Note(Kind.OFFER, 0, 0, basis(1))))
    assert not [one for one in alone.sent if isinstance(one, Disconnect)]


def test_a_folder_that_is_older_than_the_run_is_refused() -> None:
    alone = Alone(first_of_three())
    (end,) = [one for one in alone.take(Connected(1), greeting(1, 7)) if isinstance(one, Fail)]
    assert "b already has message 6" in str(end.error)


def test_a_member_that_nobody_can_meet_gives_up_by_name() -> None:
    alone = Alone(first_of_three())
    alone.take(Tick(0.0), Connected(2), greeting(2), frame(2, 0, Note(Kind.BUSY, 0)))
    assert alone.member.waiting_for == (1, 2)
    (end,) = [one for one in alone.take(Tick(50.0), Tick(101.0)) if isinstance(one, Fail)]
    assert "nothing came from b, c for 100 seconds" in str(end.error)


def test_an_offer_to_a_neighbour_that_goes_away_is_withdrawn_and_others_are_asked() -> None:
    alone = Alone(first_of_three())
    alone.take(Connected(1), greeting(1))
    alone.take(Connected(2), greeting(2))
    assert alone.notes() == []  # it waits for the answer of 1
    alone.take(Disconnected(1))
    ((to, note),) = alone.notes()
    assert (to, note.kind) == (2, Kind.OFFER)
    alone.take(Connected(1), greeting(1))
    assert [note.kind for _, note in alone.notes()] == [Kind.OFFER, Kind.WITHDRAWN]
    alone.take(frame(1, 0, Note(Kind.ANSWER, 0, 0, basis(1))))  # too late
    assert alone.notes() == [] and alone.member.meetings == []


def test_a_member_has_finished_when_every_link_was_used_as_often_as_planned() -> None:
    alone = Alone(first_of_three())
    numbers = dict.fromkeys((1, 2), 0)
    alone.take(Connected(1), greeting(1), Connected(2), greeting(2))
    said: list[Effect] = []
    for updates in range(10):
        assert not alone.member.finished
        offers = [(to, note) for to, note in alone.notes() if note.kind is Kind.OFFER]
        to, offer = offers[-1]
        body = basis(to, updates)
        answer = Note(Kind.ANSWER, offer.offer, updates, body)
        said = alone.take(Received(to, Ack(offer.offer + 1)), frame(to, numbers[to], answer))
        numbers[to] += 1
    assert Send(1, Status(10, True)) in said and alone.member.finished
    assert Counter(one.neighbour for one in alone.member.meetings) == {1: 5, 2: 5}
    offer = Note(Kind.OFFER, numbers[1], 0, basis(1))
    (end,) = [one for one in alone.take(frame(1, numbers[1], offer)) if isinstance(one, Disconnect)]
    assert "after the last meeting" in end.reason


def in_part(number: int, part: int, seed: bytes = b"s" * 32) -> Alone:
    """A member in a part of a run, to which a neighbour has a link."""
    digests = {"seed": seed, PART: bytes([part]) * 32}
    agreement = Agreement(number, ["a", "b"], bytes([part]) * 32, digests)
    create = partial(MixingAgent, number, NO_SLOTS)
    alone = Alone(Member(agreement, create, OwnClock((1 - number,), 5)))
    alone.take(Connected(1 - number))
    return alone


def test_a_neighbour_in_another_part_of_the_run_is_refused_until_it_comes() -> None:
    one, other = in_part(0, 1), in_part(1, 2)
    (hello,) = [e.frame for e in other.take(Connected(0)) if isinstance(e, Send)]
    refused = one.take(Received(1, hello))
    assert refused == [Send(1, Refusal(OTHER_PART)), Disconnect(1, OTHER_PART, passing=True)]
    (end,) = other.take(Received(0, Refusal(OTHER_PART)))
    assert isinstance(end, Disconnect) and end.passing
    (hello,) = [e.frame for e in in_part(1, 1).take(Connected(0)) if isinstance(e, Send)]
    one.take(Connected(1))
    assert not [e for e in one.take(Received(1, hello)) if isinstance(e, Disconnect)]


def test_another_plan_is_not_taken_for_another_part() -> None:
    (hello,) = [e.frame for e in in_part(1, 2, b"t" * 32).take(Connected(0)) if isinstance(e, Send)]
    (end,) = [e for e in in_part(0, 1).take(Received(1, hello)) if isinstance(e, Disconnect)]
    assert "the plans of b and a differ in part of the run, seed" in end.reason
    assert not end.passing
