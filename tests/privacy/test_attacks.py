"""The attacks work without protection, and recover nothing more than they must with it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.privacy import attacks
from tests.privacy.attacks import ATTACKS, Finding

DOCS = Path(__file__).parents[2] / "docs" / "organisations.md"


def test_items_of_a_leaf() -> None:
    found = attacks.item_list_from_sums()
    assert found.without >= 0.99 and found.protected <= 0.52


def test_items_of_a_gossiping_member_are_not_protected() -> None:
    found = attacks.item_list_from_gossip()
    assert found.without == found.protected == 1.0


def test_ratings_of_a_single_user() -> None:
    found = attacks.ratings_of_a_single_user()
    assert 1.0 - found.without < 1e-12
    # The third member has 30 users of whom half have rated an item, so the leaf's rating is about
    # one of 16 addends: a correlation of 1/4. One of 2000 pairs has a standard deviation of 0.022
    # by chance, and what is received adds no more.
    assert found.protected < 0.25 + 3 * 0.022
    assert float(found.meaning.split()[-1]) < 3 * 0.022


def test_the_only_rating_of_an_item() -> None:
    found = attacks.singleton_items()
    assert (found.without, found.protected) == (1.0, 0.0)


def test_totals_of_other_members_at_the_same_point() -> None:
    found = attacks.differencing_by_membership()
    assert found.without > 0.99 and found.protected < 0.5


def test_the_same_data_in_two_runs() -> None:
    found = attacks.linkage_of_two_runs()
    assert found.without == 1.0
    assert found.protected <= 0.2  # of 20 guesses, four hits or more have a chance of 2 %


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.__name__)
def test_the_docs_have_the_table(attack: Callable[[], Finding]) -> None:
    found = attack()
    line = next(one for one in DOCS.read_text().splitlines() if one.startswith(found.attack))
    assert f"{found.without:8.3f} {found.protected:8.3f}" in line
