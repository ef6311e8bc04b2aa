"""The rules of meetings: both members record a meeting or none does, and nobody waits for ever."""

from collections import Counter, deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator

from grassvine.engines.peers.member.conversation import Refused
from grassvine.engines.peers.member.outbox import Outbox
from grassvine.engines.peers.member.pairing import Kind, Meeting, Note, Pairing, Phase, Reply
from grassvine.engines.peers.member.records import LinkCounts, Record, Sent
from grassvine.engines.peers.member.recovery import Recovery
from grassvine.networks import merge_meetings


class Party:
    """Members who exchange notes in order on each link; a meeting takes until it is ended."""

    def __init__(self, links: set[tuple[int, int]], n_agents: int, meetings: int, seed: int):
        self.random: Generator = np.random.default_rng(seed)
        self.members = [
            Pairing(
                number,
                [other for pair in links if number in pair for other in pair if other != number],
                meetings,
            )
            for number in range(n_agents)
        ]
        self.records: list[list[tuple[int, int]]] = [[] for _ in self.members]
        self.began: dict[int, Meeting] = {}
        self.under_way: dict[tuple[int, int], deque[tuple[int, Note]]] = {}
        self.counts: dict[tuple[int, int], int] = {}
        for pair in [*links, *((other, one) for one, other in links)]:
            self.under_way[pair] = deque()
            self.counts[pair] = 0
            self.members[pair[0]].connected(pair[1])
        for member in self.members:
            self.go_on(member)

    def send(self, member: Pairing, reply: Reply) -> Meeting | None:
        pair = member.member, reply.receiver
        fewest = member.fewest(reply.receiver)
        note = Note(reply.kind, reply.offer, member.updates, fewest=fewest)
        assert Note.decode(note.encode()) == note
        self.under_way[pair].append((self.counts[pair], note))
        self.counts[pair] += 1
        return member.sent(reply)

    def go_on(self, member: Pairing) -> None:
        if withdrawn := member.to_withdraw():
            self.send(member, withdrawn)
        if member.phase is Phase.IDLE and (other := member.choose(self.random)) is not None:
            self.send(member, Reply(other, Kind.OFFER, self.counts[member.member, other]))

    def arrive(self, pair: tuple[int, int]) -> None:
        number, note = self.under_way[pair].popleft()
        sender, member = pair[0], self.members[pair[1]]
        replies = member.replies(sender, number, note, self.counts[pair[::-1]])
        meeting = member.received(sender, note)
        for reply in replies:
            meeting = self.send(member, reply) or meeting
        if meeting is not None:
            assert member.member not in self.began
            self.began[member.member] = meeting
            self.records[member.member].append((meeting.neighbour, meeting.note.updates))
        self.go_on(member)

    def end(self, number: int) -> None:
        del self.began[number]
        self.members[number].met(self.members[number].updates + 1)
        self.go_on(self.members[number])

    def interrupt(self, one: int, other: int) -> None:
        """Let a link break and come back; no message is lost."""
        for member, neighbour in ((one, other), (other, one)):
            self.members[member].disconnected(neighbour)
            self.go_on(self.members[member])
        for member, neighbour in ((one, other), (other, one)):
            self.members[member].connected(neighbour)
            self.go_on(self.members[member])


LINKS = [
    {(0, 1)},
    {(0, 1), (1, 2)},
    {(0, 1), (1, 2), (0, 2)},
    {(0, 1), (0, 2), (0, 3), (0, 4)},
    {(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)},
    {(one, other) for other in range(5) for one in range(other)},
]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(LINKS), st.integers(1, 6), st.integers(0, 2**32), st.data())
def test_all_meet_in_whatever_order_messages_arrive(
    links: set[tuple[int, int]], meetings: int, seed: int, data: st.DataObject
) -> None:
    n_agents = 1 + max(map(max, links))
    party = Party(links, n_agents, meetings, seed)
    for _ in range(data.draw(st.integers(0, 10))):  # breaks at drawn moments, and then none
        one, other = data.draw(st.sampled_from(sorted(links)))
        for _ in range(data.draw(st.integers(0, 8))):
            step(party)
        party.interrupt(one, other)
    for _ in range(20_000):
        if not step(party):
            break
    assert all(member.phase is Phase.IDLE for member in party.members)
    merged = merge_meetings(party.records)
    found = Counter(merged.meetings(slot)[0] for slot in range(merged.n_slots))
    assert found == dict.fromkeys(links, meetings)


@pytest.mark.parametrize("seed", range(20))
def test_who_comes_late_is_not_left_out(seed: int) -> None:
    """Two members who always have time do not go on without the third, which is slower."""
    party = Party({(0, 1), (0, 2), (1, 2)}, 3, 100, seed)
    while min(counts := [len(record) for record in party.records]) < 60:
        step(party, slow=2)
    assert max(counts) <= 4 * min(counts)


def step(party: Party, slow: int = -1) -> bool:
    """Let one thing happen, to a slow member less often; return whether anything was left."""
    ways = [pair for pair, notes in sorted(party.under_way.items()) if notes]
    if party.random.random() < 0.9:
        ways = [pair for pair in ways if slow not in pair] or ways
    things = len(ways) + len(party.began)
    if not things:
        return False
    place = int(party.random.integers(things))
    if place < len(ways):
        party.arrive(ways[place])
    else:
        party.end(sorted(party.began)[place - len(ways)])
    return True


def offering(to: int = 1, updates: int = 5) -> Pairing:
    """Member 2, with neighbours 0 to 4, which has made an offer with number 3."""
    member = Pairing(2, (0, 1, 3, 4), 10)
    member.updates = updates
    member.received(to, Note(Kind.OFFER, 0, 9))  # so that it knows that the other one has more
    for other in member.left:
        member.connected(other)
    member.sent(Reply(to, Kind.OFFER, 3))
    return member


@pytest.mark.parametrize(
    ("sender", "fewest", "gives_way"),
    [(0, 5, True), (3, 5, False), (4, 4, True), (0, 6, False), (1, 5, True), (1, 6, False)],
)
def test_of_two_offers_the_one_with_fewer_updates_goes_first(
    sender: int, fewest: int, gives_way: bool
) -> None:
    replies = offering().replies(sender, 7, Note(Kind.OFFER, 7, 9, fewest=fewest), 4)
    answers = [Reply(1, Kind.WITHDRAWN, 3), Reply(sender, Kind.ANSWER, 7)]
    assert replies == (answers if gives_way else [Reply(sender, Kind.BUSY, 7)])


def test_an_offer_to_a_neighbour_that_is_behind_is_kept() -> None:
    member = offering(to=3)
    member.received(3, Note(Kind.BUSY, 3))
    member.received(4, Note(Kind.OFFER, 8, 2))
    member.sent(Reply(4, Kind.BUSY, 8))
    assert member.fewest(4) == 2
    member.sent(Reply(4, Kind.OFFER, 4))
    replies = member.replies(0, 7, Note(Kind.OFFER, 7, 3, fewest=3), 4)
    assert replies == [Reply(0, Kind.BUSY, 7)]


def test_whoever_was_refused_is_asked_first_in_order() -> None:
    member = offering()
    for sender in (4, 0, 3):
        member.sent(Reply(sender, Kind.BUSY, 0))
    member.received(1, Note(Kind.BUSY, 3))
    asked = []
    for _ in range(3):
        other = member.choose(np.random.default_rng(0))
        assert other is not None
        asked.append(other)
        member.sent(Reply(other, Kind.OFFER, 0))
        member.received(other, Note(Kind.BUSY, 0))
    assert asked == [4, 0, 3]
    assert member.choose(np.random.default_rng(0)) is None  # all have said that they are busy
    member.disconnected(3)
    member.connected(3)
    assert member.choose(np.random.default_rng(0)) == 3


def test_an_offer_to_an_absent_neighbour_is_withdrawn() -> None:
    member = offering(to=3)
    assert member.to_withdraw() is None
    member.disconnected(3)
    withdrawn = member.to_withdraw()
    assert withdrawn == Reply(3, Kind.WITHDRAWN, 3)
    member.sent(withdrawn)
    assert member.phase is Phase.IDLE
    assert member.replies(3, 5, Note(Kind.ANSWER, 3), 5) == []  # it comes too late
    assert member.choose(np.random.default_rng(0)) in (0, 1, 4)


def answered() -> Pairing:
    """Member 2, which has answered offer 3 of neighbour 0."""
    member = offering()
    member.left[3] = 0
    member.received(1, Note(Kind.BUSY, 3))
    member.received(0, Note(Kind.OFFER, 3, 1))
    member.sent(Reply(0, Kind.ANSWER, 3))
    return member


@pytest.mark.parametrize(
    ("sender", "note", "says"),
    [
        (0, Note(Kind.OFFER, 6), "number of another message"),
        (0, Note(Kind.OFFER, 5), "before the outcome"),
        (1, Note(Kind.ANSWER, 4), "never made"),
        (1, Note(Kind.BUSY, 4), "never made"),
        (0, Note(Kind.AGREED, 2), "without an answer"),
        (1, Note(Kind.AGREED, 3), "without an answer"),
        (0, Note(Kind.WITHDRAWN, 5), "withdrawn that was never made"),
        (3, Note(Kind.OFFER, 5), "after the last meeting"),
    ],
)
def test_what_the_rules_do_not_allow_is_refused_and_changes_nothing(
    sender: int, note: Note, says: str
) -> None:
    member = answered()
    before = repr(vars(member))
    with pytest.raises(Refused, match=says):
        member.replies(sender, 5, note, 4)
    assert repr(vars(member)) == before


@pytest.mark.parametrize("data", [b"", b"\x00" * 24, b"\x05" + b"\x00" * 24])
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(Refused, match="neither an offer nor a reply"):
        Note.decode(data)


def test_who_has_answered_waits_for_the_outcome_and_is_busy_for_others() -> None:
    member = answered()
    member.disconnected(0)
    assert member.to_withdraw() is None and member.phase is Phase.ANSWERED
    assert member.replies(1, 9, Note(Kind.OFFER, 9, 0), 4) == [Reply(1, Kind.BUSY, 9)]
    meeting = member.received(0, Note(Kind.AGREED, 3))
    assert meeting == Meeting(0, Note(Kind.OFFER, 3, 1))


def test_an_offer_made_before_a_crash_is_compared_as_it_was_sent() -> None:
    """What was known of the neighbour's updates is gone, but the offer on disk tells it."""
    offer = Note(Kind.OFFER, 3, updates=4, fewest=4)
    records: list[Record] = [LinkCounts(0, 3, 2, left=2), Sent(0, 3, offer.encode())]
    outbox, member = Outbox([0], ["m0", "m1"]), Pairing(1, [0], 6)
    Recovery(4, {0: 0}).read(records, outbox, member)
    theirs = Note(Kind.OFFER, 2, updates=4, fewest=4)
    replies = member.replies(0, 2, theirs, n_sent=4)
    assert replies == [Reply(0, Kind.WITHDRAWN, 3), Reply(0, Kind.ANSWER, 2)]
