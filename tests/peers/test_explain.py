"""What ``peer explain`` says is compared with the messages of actual runs."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.peers.houses import Together, cards, learn_together, learning

from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import PlanError
from grassvine.peers.explain import GOSSIP_WARNING, UNMASKED, explain
from grassvine.peers.group_plan import HEADER, GroupPlan
from grassvine.peers.messages import kinds_of, largest_message
from grassvine.peers.methods import sums_after, sums_before
from grassvine.protocol import encode
from grassvine.sums.decisions import MAX_DECISIONS

README = Path(__file__).parents[2] / "README.md"

RUNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "exact": ("ratings", "exact", {"holdout": 0.1}),
    "exact, given": ("ratings", "exact", {"regularization": 3.0}),
    "exact, scale": ("ratings", "exact", {"regularization": 3.0, "lowest": 0.0, "highest": 9.0}),
    "subspace": ("ratings", "exact-subspace", {}),
    "subspace, given": ("ratings", "exact-subspace", {"regularization": 0.05}),
    "subspace, none": ("ratings", "exact-subspace", {"regularization": 0.0}),
    "gossip": ("ratings", "gossip", {"max_iter": 9, "holdout": 0.1}),
    "tasks": ("tasks", "exact", {"holdout": 0.2}),
    "tasks, bayes": ("tasks", "bayes", {"holdout": 0.2}),
    "tasks, gossip": ("tasks", "parallel", {"max_iter": 9}),
    "components": ("pca", "exact", {}),
    "components, gossip": ("pca", "gossip", {"max_iter": 9}),
}


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
                    assert all(array.dtype == "f8" for array in arrays.values())
                    kind = "+".join(sorted(arrays))
                    size = sum(array.size for array in arrays.values())
                    counts[kind, size, names[sender], names[receiver]] += 1
                    assert len(encode(sent[sender])) <= found.plan.limits.message_bytes
                agents[receiver].meet(slot, [sent[sender] for sender in senders])
    return counts


@pytest.mark.parametrize("name", RUNS)
def test_sizes_and_receivers_are_those_of_a_run(tmp_path: Path, name: str) -> None:
    kind, method, options = RUNS[name]
    what = learning(kind, method, rank=3, **options)
    found = learn_together(tmp_path, what, cards("ab", "d"))
    explained = explain(found.plan)
    counts = sent_in(found)
    assert counts
    # The ranks below the plan's occur on the way to it.
    smaller = [
        kinds_of(learning(kind, method, rank=r, **options), found.network) for r in (1, 2, 3)
    ]
    sizes = {one.numbers for kinds in smaller for one in kinds} | {0}  # empty at the very end
    if kind == "pca" and method == "exact":
        sizes |= {8 * width for width in (1, 2, 3)}
    if kind == "ratings" and method == "exact":
        sizes.add(30 + 1)  # rank 0, the biases alone
        sizes.add(2)  # their error
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


@pytest.mark.parametrize("name", RUNS)
def test_no_message_is_sent_more_often_than_told(tmp_path: Path, name: str) -> None:
    kind, method, options = RUNS[name]
    what = learning(kind, method, rank=3, **options)
    found = learn_together(tmp_path, what, cards("ab", "d"))
    counts = sent_in(found)
    kinds = kinds_of(what, found.network)
    # A leaf sends each kind to its parent at most so often, and each once at least that must come.
    leaf = "clinic-d"
    by_size: Counter[int] = Counter()
    for (arrays, size, sender, _), count in counts.items():
        if sender == leaf:
            by_size[size - EXTRA[arrays]] += count
    for one in kinds:
        most = sum(other.most for other in kinds if other.numbers == one.numbers)
        assert by_size[one.numbers] <= most
    before = [one for one in kinds if one.stage == "before"]
    after = [
        one for one in kinds if one.stage == "after" and one.name not in ("first basis", "mean")
    ]
    assert len(before) == sums_before(what) and len(after) == sums_after(what)
    for one in kinds:
        assert by_size[one.numbers] >= 1, one.name


def test_a_leaf_is_told_that_its_own_data_are_seen_and_a_branch_whose(tmp_path: Path) -> None:
    plan = GroupPlan.draft(cards("abc", "d"), learning("ratings"))
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
    plan = GroupPlan.draft(cards(), learning("tasks"))
    whole = explain(plan)
    for member in plan.members:
        assert explain(plan, member.name).sent == {member.name: whole.sent[member.name]}
    with pytest.raises(PlanError, match="no member of the plan"):
        explain(plan, "clinic-z")


def test_gossip_prints_the_stronger_warning() -> None:
    gossip = explain(GroupPlan.draft(cards(), learning("ratings", "gossip")))
    exact = explain(GroupPlan.draft(cards(), learning("ratings")))
    assert GOSSIP_WARNING in gossip.sentences and GOSSIP_WARNING not in exact.sentences
    assert UNMASKED in exact.sentences
    (basis,) = [row for row in gossip.sent["clinic-d"] if row.message == "basis"]
    assert basis.of == ("clinic-d",) and basis.nbytes == 8 * 30 * 2


def test_what_is_revealed_agrees_with_the_readme() -> None:
    section = " ".join(
        README.read_text().split("## What leaves an agent")[1].split("\n## ")[0].split()
    )
    rows = explain(GroupPlan.draft(cards(), learning("ratings"))).sent["clinic-d"]
    reveals = " ".join(row.reveals for row in rows)
    for part in ("exact list of its items", "number of its users", "single user", "rounding error"):
        assert part in section
    for part in ("exact list of items", "number of users", "single user", "rounding error"):
        assert part in reveals


def test_the_limit_of_a_plan_is_what_its_largest_message_takes() -> None:
    for kind in ("ratings", "tasks", "pca"):
        plan = GroupPlan.draft(cards(), learning(kind))
        assert plan.limits.message_bytes == largest_message(plan.learning, plan.network) + HEADER
