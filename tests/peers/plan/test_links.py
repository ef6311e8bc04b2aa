from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.peers.houses import cards

from grassvine.foundations.errors import PlanError
from grassvine.peers.plan.links import SHAPES, as_network, draft_links

CARDS = {card.name: card for card in cards("abcd", "efg")}


@given(
    listening=st.sets(st.sampled_from("abcd"), min_size=1),
    dialling=st.sets(st.sampled_from("efg")),
    shape=st.sampled_from(["auto", *SHAPES]),
    gossips=st.booleans(),
)
def test_links_connect_all_members_and_only_listening_ones_are_dialled(
    listening: set[str], dialling: set[str], shape: str, gossips: bool
) -> None:
    members = [CARDS[f"clinic-{letter}"] for letter in sorted(listening | dialling)]
    if len(members) < 2:
        return
    try:
        links = draft_links(members, shape, gossips=gossips)
    except PlanError as error:
        links, why = (), str(error)
    if not links:
        assert shape != "auto" and len(dialling) > 1
        assert "neither listens" in why
        return
    network = as_network(members, links)
    assert network.n_agents == len(members)
    assert list(links) == sorted(links)
    assert all(CARDS[listener].listens for _, listener in links)
    if shape == "auto":
        leaves = [number for number, one in enumerate(members) if not one.listens]
        assert all(network.degree(number) == 1 for number in leaves)


def test_a_tree_for_sums_is_low() -> None:
    heights = [SHAPES["tree"](n).tree.height for n in (2, 3, 7, 15, 31)]
    assert heights == [1, 1, 2, 3, 4]
    assert max(SHAPES["tree"](31).degree(number) for number in range(31)) == 3


def test_one_listening_member_is_enough() -> None:
    members = [CARDS[f"clinic-{letter}"] for letter in "aefg"]
    links = draft_links(members, "auto", gossips=False)
    assert links == tuple((f"clinic-{letter}", "clinic-a") for letter in "efg")


def test_nobody_listens() -> None:
    with pytest.raises(PlanError, match="no member listens"):
        draft_links([CARDS["clinic-e"], CARDS["clinic-f"]], "auto", gossips=False)


def test_a_ring_with_two_dial_only_members_side_by_side_is_refused_with_their_names() -> None:
    members = [CARDS[f"clinic-{letter}"] for letter in "abef"]
    with pytest.raises(PlanError, match="links clinic-e with clinic-f, and neither listens"):
        draft_links(members, "ring", gossips=False)


A, B, E = "clinic-a", "clinic-b", "clinic-e"


@pytest.mark.parametrize(
    ("links", "reason"),
    [
        (((A, B), (A, E)), "clinic-a would dial clinic-e, which does not listen"),
        (((A, B), (B, A), (E, A)), "clinic-b and clinic-a are linked twice"),
        (((A, A), (E, A)), "clinic-a is linked to itself"),
        (((A, "clinic-z"),), "clinic-z', who is no member"),
        (((E, A),), "do not connect all members"),
        ((), "do not connect all members"),
    ],
)
def test_impossible_links_are_refused(links: tuple[tuple[str, str], ...], reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        as_network([CARDS[name] for name in (A, B, E)], links)


def test_shapes_have_the_links_of_their_names() -> None:
    members = [CARDS[f"clinic-{letter}"] for letter in "abcd"]
    names = [member.name for member in members]
    path = {frozenset(link) for link in draft_links(members, "path", gossips=False)}
    assert path == {frozenset(pair) for pair in pairwise(names)}
    star = draft_links(members, "star", gossips=False)
    assert star == tuple((name, A) for name in names[1:])
    assert len(draft_links(members, "complete", gossips=False)) == 6
