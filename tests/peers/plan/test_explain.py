"""What ``peer explain`` says is compared with the messages of actual runs."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.peers.houses import Together, cards, learn_together, learning

from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import PlanError
from grassvine.peers.fit.methods import sums_after, sums_before
from grassvine.peers.plan.explain import (
    CURIOUS,
    GOSSIP_WARNING,
    MASKED_SUMS,
    MEMBERSHIP,
    NOTHING,
    SIZES,
    STATISTICS,
    TOTALS,
    UNMASKED,
    explain,
)
from grassvine.peers.plan.group_plan import HEADER, GroupPlan
from grassvine.peers.plan.messages.kinds import kinds_of, largest_message, n_totals
from grassvine.protocol import encode
from grassvine.sums.decisions import MAX_DECISIONS
from grassvine.sums.scales import N_LEVELS, STEP

README = Path(__file__).parents[3] / "README.md"

RUNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bayes": ("ratings", "bayes", {"holdout": 0.1}),
    "bayes, scale": ("ratings", "bayes", {"lowest": 0.0, "highest": 9.0}),
    "map": ("ratings", "map", {"holdout": 0.1}),
    "map, given": ("ratings", "map", {"regularization": 3.0}),
    "subspace": ("ratings", "exact-subspace", {}),
    "subspace, given": ("ratings", "exact-subspace", {"regularization": 0.05}),
    "subspace, none": ("ratings", "exact-subspace", {"regularization": 0.0}),
    "gossip": ("ratings", "gossip", {"max_iter": 9, "holdout": 0.1}),
    "events": ("events", "exact", {"holdout": 0.1}),
    "tasks": ("tasks", "exact", {"holdout": 0.2}),
    "tasks, bayes": ("tasks", "bayes", {"holdout": 0.2}),
    "tasks, gossip": ("tasks", "parallel", {"max_iter": 9}),
    "components": ("pca", "exact", {}),
    "components, gossip": ("pca", "gossip", {"max_iter": 9}),
}
SCALE: dict[str, Any] = {"lowest": 0.5, "highest": 5.0}
MASKED = {
    f"masked {name}": (kind, method, {**options, **(SCALE if kind == "ratings" else {})})
    for name, (kind, method, options) in RUNS.items()
    if method.startswith(("bayes", "map", "exact")) and name != "bayes, scale"
}
ALL = {**RUNS, **MASKED}


def secrecy_of(name: str) -> str:
    return "masked" if name in MASKED else "none"


# The arrays of a message, and how many numbers come with those of the sum or basis.
EXTRA = {"basis": 0, "checksum+sum": 1, "decisions+sum": 1 + MAX_DECISIONS}


def sent_in(found: Together) -> Counter[tuple[str, int, str, str]]:
    """Run the plan again and count the messages by arrays, numbers, sender and receiver."""
    plan, names = found.plan.run_plan, [member.name for member in found.plan.members]
    agents = [plan.agent(number, data) for number, data in enumerate(found.data)]
    counts: Counter[tuple[str, int, str, str]] = Counter()
    with one_blas_thread():
        for slot in range(found.run.n_slots):
            inboxes = plan.timetable.inboxes(slot)
            sent = {n: agents[n].outgoing(slot) for n in {n for _, ns in inboxes for n in ns}}
            for receiver, senders in inboxes:
                for sender in senders:
                    arrays = sent[sender].arrays
                    words = found.plan.secrecy == "masked"
                    for array_name, array in arrays.items():
                        assert array.dtype == ("u8" if words and array_name == "sum" else "f8")
                    kind = "+".join(sorted(arrays))
                    size = sum(array.size for array in arrays.values())
                    counts[kind, size, names[sender], names[receiver]] += 1
                    assert len(encode(sent[sender])) <= found.plan.limits.message_bytes
                agents[receiver].meet(slot, [sent[sender] for sender in senders])
    return counts


@pytest.mark.parametrize("name", ALL)
def test_sizes_and_receivers_are_those_of_a_run(tmp_path: Path, name: str) -> None:
    kind, method, options = ALL[name]
    what = learning(kind, method, rank=3, **options)
    found = learn_together(tmp_path, what, cards("ab", "d"), secrecy=secrecy_of(name))
    plan, votes = found.plan, found.plan.secrecy == "masked"
    explained = explain(found.plan)
    counts = sent_in(found)
    assert counts
    # The ranks below the plan's occur on the way to it.
    ranks = [replace(plan.learning, rank=r) for r in (1, 2, 3)]
    smaller = [kinds_of(one, found.network, plan.sums) for one in ranks]
    sizes = {one.numbers for kinds in smaller for one in kinds} | {0}  # empty at the very end
    if kind == "pca" and method == "exact":
        sizes |= {8 * width + 2 * votes for width in (1, 2, 3)}
    if kind == "ratings" and method == "map":
        sizes.add(30 + 1 + 5 * votes)  # rank 0, the biases alone
        sizes.add(2 + 3 * votes)  # their error
    if votes:  # on the sizes of one array or more
        most = max(one.arrays for kinds in smaller for one in kinds)
        sizes |= {(1 + N_LEVELS) * arrays for arrays in range(1, most + 1)}
    told = {
        (sender, receiver): max(row.nbytes for row in rows if receiver in row.to)
        for sender, rows in explained.sent.items()
        for receiver in {one for row in rows for one in row.to}
    }
    reached: dict[tuple[str, str], int] = {}
    for arrays, size, sender, receiver in counts:
        numbers = size - EXTRA[arrays]
        assert numbers in sizes, f"{numbers} numbers from {sender} to {receiver} are not explained"
        reached[sender, receiver] = max(reached.get((sender, receiver), 0), 8 * size)
    assert set(reached) == set(told)
    assert reached == told, "the largest message is the one that is told"


@pytest.mark.parametrize("name", ALL)
def test_no_message_is_sent_more_often_than_told(tmp_path: Path, name: str) -> None:
    kind, method, options = ALL[name]
    what = learning(kind, method, rank=3, **options)
    found = learn_together(tmp_path, what, cards("ab", "d"), secrecy=secrecy_of(name))
    plan = found.plan
    counts = sent_in(found)
    kinds = kinds_of(plan.learning, found.network, plan.sums)
    # A leaf sends each kind to its parent at most so often, and each once at least that must come.
    leaf = "clinic-d"
    by_size: Counter[int] = Counter()
    # Messages of the ranks on the way, which may be as long as others of the plan's rank.
    ranks = [replace(plan.learning, rank=r) for r in (1, 2)]
    shorter = [
        kind
        for one in ranks
        for kind in kinds_of(one, found.network, plan.sums)
        if kind.stage == "fit" and kind.name not in ("statistics", "validation", "comparison")
    ]
    shorter += [replace(one, numbers=30 + 1 + 5) for one in shorter if one.arrays == 4]  # rank 0
    for (arrays, size, sender, _), count in counts.items():
        if sender == leaf:
            by_size[size - EXTRA[arrays]] += count
    for one in kinds:
        most = sum(
            other.most
            for other in (*kinds, *shorter)
            if other.numbers == one.numbers
            # Votes on the sizes of fewer arrays may be as long as another message.
            or (other.name == "sizes" and one.numbers % (1 + N_LEVELS) == 0)
        )
        assert by_size[one.numbers] <= most
    before = [one for one in kinds if one.stage == "before"]
    after = [
        one for one in kinds if one.stage == "after" and one.name not in ("first basis", "mean")
    ]
    assert len(before) == sums_before(plan.learning)
    assert len(after) == sums_after(plan.learning)
    in_sparse_tables = {"intervals", "validation"} if method == "bayes" else set()
    for one in kinds:
        assert one.name in in_sparse_tables or by_size[one.numbers] >= 1, one.name


def test_a_leaf_is_told_that_its_own_data_are_seen_and_a_branch_whose(tmp_path: Path) -> None:
    plan = GroupPlan.draft(cards("abc", "d"), learning("ratings"), secrecy="none")
    tree, names = plan.network.tree, [member.name for member in plan.members]
    for number, name in enumerate(names):
        rows = explain(plan, name).sent[name]
        up = {row.of for row in rows if row.to == (names[tree.parents[number]],)}
        if tree.parents[number] < 0:
            assert all(row.of == tuple(names) for row in rows)
        elif not tree.children(number):
            assert up == {(name,)} and len(rows) == len(kinds_of(plan.learning, plan.network))
        else:
            assert (name,) not in up


def test_one_member_is_a_part_of_all() -> None:
    plan = GroupPlan.draft(cards(), learning("tasks"), secrecy="none")
    whole = explain(plan)
    for member in plan.members:
        assert explain(plan, member.name).sent == {member.name: whole.sent[member.name]}
    with pytest.raises(PlanError, match="no member of the plan"):
        explain(plan, "clinic-z")


def test_gossip_prints_the_stronger_warning() -> None:
    gossip = explain(GroupPlan.draft(cards(), learning("ratings", "gossip"), secrecy="none"))
    exact = explain(GroupPlan.draft(cards(), learning("ratings"), secrecy="none"))
    assert GOSSIP_WARNING in gossip.sentences and GOSSIP_WARNING not in exact.sentences
    assert UNMASKED in exact.sentences
    (basis,) = [row for row in gossip.sent["clinic-d"] if row.message == "basis"]
    assert basis.of == ("clinic-d",) and basis.nbytes == 8 * 30 * 2


def test_what_is_revealed_agrees_with_the_readme() -> None:
    section = " ".join(
        README.read_text().split("## What leaves an agent")[1].split("\n## ")[0].split()
    )
    rows = explain(GroupPlan.draft(cards(), learning("ratings"), secrecy="none")).sent["clinic-d"]
    reveals = " ".join(row.reveals for row in rows)
    for part in ("exact list of its items", "number of its users", "single user", "rounding error"):
        assert part in section
    for part in ("exact list of items", "number of users", "single user", "rounding error"):
        assert part in reveals


def test_the_limit_of_a_plan_is_what_its_largest_message_takes() -> None:
    for kind in ("ratings", "tasks", "pca"):
        plan = GroupPlan.draft(cards(), learning(kind), secrecy="none")
        assert plan.limits.message_bytes == largest_message(plan.learning, plan.network) + HEADER


def test_with_masks_a_neighbour_learns_nothing_and_all_learn_the_totals() -> None:
    plan = GroupPlan.draft(cards(), learning("ratings", **SCALE))
    found = explain(plan)
    tree, names = plan.network.tree, [member.name for member in plan.members]
    for number, name in enumerate(names):
        for row in found.sent[name]:
            upward = tree.parents[number] >= 0 and row.to == (names[tree.parents[number]],)
            assert (row.reveals == NOTHING) == upward
            assert row.contains.startswith("under masks: " if upward else "the total of: ")
    told = " ".join(found.sentences)
    for sentence in (MASKED_SUMS, TOTALS, SIZES, MEMBERSHIP, CURIOUS):
        assert sentence in told
    assert UNMASKED not in told and GOSSIP_WARNING not in told
    assert f"at most {n_totals(plan.learning, plan.network):,} totals" in told
    assert f"fewer than {plan.learning.min_support} ratings" in told
    assert f"a factor of {2**STEP}" in SIZES


@pytest.mark.parametrize("name", MASKED)
def test_a_run_has_no_more_totals_than_told_and_about_as_many(tmp_path: Path, name: str) -> None:
    kind, method, options = MASKED[name]
    what = learning(kind, method, rank=3, **options)
    found = learn_together(tmp_path, what, cards("ab", "d"), secrecy="masked")
    n_sums = int(found.run.states[0]["updates"][0])
    assert n_sums <= n_totals(found.plan.learning, found.network)
    assert n_sums <= 500 and "in most runs fewer than 500" in STATISTICS
