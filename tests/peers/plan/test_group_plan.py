"""Plans between members: the same text and digest for everybody, and strict reading."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.peers.houses import cards, learning

from grassvine.foundations.errors import NetworkError, PlanError
from grassvine.peers.fit.learning import DEFAULTS, Learning, MethodChoice, in_order
from grassvine.peers.plan.group_plan import GroupPlan, Limits, differing_entry, read_plan

CARDS = cards()
PLAN = GroupPlan.draft(
    CARDS, learning("ratings", "exact-subspace", holdout=0.1), seed=3, secrecy="none"
)
IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
INTEGERS = st.integers(-(2**63), 2**63 - 1)


def catalogues(kind: str) -> st.SearchStrategy[tuple[Any, ...]]:
    texts = st.sets(IDS, min_size=1, max_size=9)
    if kind != "ratings":
        return texts.map(lambda found: tuple(sorted(found - {"y", "task"}) or ["x"]))
    numbers = st.sets(INTEGERS, min_size=1, max_size=9)
    both: st.SearchStrategy[set[Any]] = texts | numbers
    return both.map(lambda found: tuple(in_order(tuple(found))))


@st.composite
def learnings(draw: st.DrawFn) -> Learning:
    kind = draw(st.sampled_from(sorted(DEFAULTS)))
    method = draw(st.sampled_from(sorted(DEFAULTS[kind])))
    values = {
        "regularization": st.floats(1e-9, 0.9) | st.just(0.5),
        "rho": st.just("auto") | st.floats(0.0, 1e9) | st.integers(0, 9),
        "alpha": st.floats(0.0, 1e9) | st.integers(0, 9),
        "max_iter": st.integers(1, 50),
    }
    options = {key: draw(values[key]) for key in DEFAULTS[kind][method] if draw(st.booleans())}
    catalogue = draw(catalogues(kind))
    scale: dict[str, Any] = {}
    if kind == "ratings" and draw(st.booleans()):
        scale = {"lowest": draw(st.floats(-9.0, 0.0)), "highest": draw(st.integers(1, 9))}
    columns: dict[str, Any] = {"target": "y", "task": "task"} if kind == "tasks" else {}
    return Learning(
        kind,
        catalogue,
        draw(st.integers(1, len(catalogue))),
        MethodChoice.of(kind, method, options),
        holdout=0.0 if kind == "pca" else draw(st.floats(0.0, 0.9)),
        **scale,
        **columns,
    )


@settings(max_examples=60, deadline=None)
@given(
    learnings(),
    st.integers(0, 2**63 - 1),
    st.floats(1e-3, 7e6) | st.integers(1, 10**6),
    st.sampled_from([2, 3, 4]),
)
def test_a_plan_survives_toml(what: Learning, seed: int, patience: float, count: int) -> None:
    plan = GroupPlan.draft(CARDS[:count], what, seed=seed, patience=patience, secrecy="none")
    again = GroupPlan.from_toml(plan.to_toml())
    assert again == plan
    assert again.to_toml() == plan.to_toml()
    assert (again.digest, again.digests) == (plan.digest, plan.digests)
    again.require_same_timetable()
    assert again.run_plan.timetable.digest() == plan.run_plan.timetable.digest()


def test_the_order_of_the_cards_does_not_matter() -> None:
    assert (
        GroupPlan.draft(CARDS[::-1], PLAN.learning, seed=3, secrecy="none").to_toml()
        == PLAN.to_toml()
    )


def test_layout_and_comments_are_no_content_but_everything_else_is() -> None:
    text = PLAN.to_toml()
    assert GroupPlan.from_toml(f"# a comment\n\n{text}").digest == PLAN.digest
    others = [
        replace(PLAN, seed=4),
        replace(PLAN, limits=Limits(10**6, 5.0)),
        replace(PLAN, timetable="0" * 64),
        replace(PLAN, learning=replace(PLAN.learning, rank=1)),
        replace(PLAN, learning=replace(PLAN.learning, catalogue=tuple(range(31)))),
        replace(PLAN, learning=replace(PLAN.learning, holdout=0.2)),
        replace(PLAN, learning=replace(PLAN.learning, lowest=0.0, highest=6.0)),
        replace(
            PLAN,
            links=tuple(
                sorted(link[::-1] if i == 0 else link for i, link in enumerate(PLAN.links))
            ),
        ),
    ]
    assert len({plan.digest for plan in [PLAN, *others]}) == 9


def test_the_entry_that_differs_is_named() -> None:
    assert differing_entry(PLAN.digests, PLAN.digests) is None
    assert differing_entry(PLAN.digests, replace(PLAN, seed=4).digests) == "seed"
    rank = replace(PLAN, learning=replace(PLAN.learning, rank=1))
    assert differing_entry(rank.digests, PLAN.digests) == "model.rank"
    scale = replace(PLAN, learning=replace(PLAN.learning, lowest=0.0, highest=6.0))
    assert differing_entry(PLAN.digests, scale.digests) == "model.highest and 1 more"
    card = replace(CARDS[0], address="elsewhere.example:443")
    moved = replace(PLAN, members=(card, *PLAN.members[1:]))
    assert differing_entry(PLAN.digests, moved.digests) == "members.clinic-a.address"
    items = replace(PLAN, learning=replace(PLAN.learning, catalogue=tuple(range(1, 31))))
    assert differing_entry(PLAN.digests, items.digests) == "model.items"


def test_a_digest_is_bound_to_its_key_and_type() -> None:
    assert len(set(PLAN.digests.values())) == len(PLAN.digests)
    texts = replace(PLAN.learning, catalogue=tuple(in_order(tuple(map(str, range(30))))))
    assert replace(PLAN, learning=texts).digests["model.items"] != PLAN.digests["model.items"]
    assert all(len(digest) == 32 for digest in PLAN.digests.values())


def altered(old: str, new: str) -> str:
    text = PLAN.to_toml()
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("format = 1", "format = 2", "format is not 1"),
        ("seed = 3", "seed = -1", "seed is -1"),
        ("seed = 3", "seed = 3.0", "seed must be a whole number"),
        ("seed = 3", "sead = 3", "sead: unknown key 'sead'; did you mean 'seed'"),
        ("seed = 3\n", "", "seed is missing"),
        ('sums = "plain"', 'sums = "words"', "unknown sums 'words'"),
        ('secrecy = "none"', 'secrecy = "masks"', "unknown secrecy"),
        ('encoding = "safetensors"', 'encoding = "pickle"', "unknown encoding"),
        ('timetable = "', 'timetable = "x', "timetable is not a SHA-256"),
        ('kind = "ratings"', 'kind = "tasks"', "model.features is missing"),
        ('kind = "ratings"', 'kind = "films"', "features|unknown kind"),
        ("rank = 2", "rank = 31", "rank is 31, but there are 30 items"),
        ("rank = 2", "rank = true", "model.rank must be a whole number"),
        ("holdout = 0.1", "holdout = 1.0", "holdout is 1"),
        ("holdout = 0.1", "holdout = nan", "holdout is nan"),
        ("    0,\n", "    -1,\n    -5,\n", "not in ascending order"),
        ("    0,\n", "    1,\n", "an entry twice"),
        ("    0,\n", "    0.5,\n", "must be a list of text or of whole numbers"),
        ("    0,\n", '    "0",\n', "all text, or all whole numbers"),
        ("    0,\n", "    -9223372036854775809,\n", "does not fit 64 bits|TOML"),
        ('name = "exact-subspace"', 'name = "exactly"', "unknown method.name"),
        ('name = "exact-subspace"', 'name = "gossip"', "has the options"),
        ('regularization = "auto"', 'regularization = "some"', "must be a number"),
        ('regularization = "auto"', "regularization = 1.5", "regularization is 1.5"),
        ("patience = 3600.0", "patience = 0.0", "patience is 0 seconds"),
        ("patience = 3600.0", "patience = inf", "patience is inf"),
        ("message_bytes =", "message_bites =", "limits.message_bites: unknown key"),
        ("[limits]", "[limit]", "limit: unknown key"),
        ("[[members]]", "[members.first]", "members must be a list|not valid TOML"),
        ('name = "clinic-a"', 'name = "clinic-e"', "for other names"),
        ('address = "clinic-a', 'address = "user@clinic-a', "not an address"),
    ],
)
def test_an_altered_plan_is_refused_with_the_key(old: str, new: str, reason: str) -> None:
    with pytest.raises(PlanError, match=reason) as caught:
        GroupPlan.from_toml(altered(old, new))
    assert "\n" not in str(caught.value)


def test_members_need_names_and_keys_of_their_own() -> None:
    with pytest.raises(PlanError, match="two members are named clinic-a"):
        GroupPlan.draft([CARDS[0], CARDS[0]], PLAN.learning, secrecy="none")
    with pytest.raises(PlanError, match="has 1 members"):
        GroupPlan.draft(CARDS[:1], PLAN.learning, secrecy="none")
    twin = replace(CARDS[1], x25519=CARDS[0].x25519)
    with pytest.raises(PlanError, match="the same key"):
        GroupPlan.draft([CARDS[0], twin], PLAN.learning, secrecy="none")
    with pytest.raises(PlanError, match="listen at the same address"):
        GroupPlan.draft(
            [CARDS[0], replace(CARDS[1], address=CARDS[0].address)], PLAN.learning, secrecy="none"
        )
    with pytest.raises(PlanError, match="not in the order of their names"):
        replace(PLAN, members=PLAN.members[::-1])
    with pytest.raises(PlanError, match="links are not in order"):
        replace(PLAN, links=PLAN.links[::-1])


def test_another_timetable_is_noticed_before_anything_is_sent() -> None:
    gossip = GroupPlan.draft(
        CARDS, learning("ratings", "gossip", max_iter=20), seed=3, secrecy="none"
    )
    gossip.require_same_timetable()
    with pytest.raises(PlanError, match="draws another timetable"):
        replace(gossip, seed=4).require_same_timetable()


def test_a_run_that_is_too_long_is_refused() -> None:
    members = [replace(card) for card in CARDS]
    long = learning("ratings", "gossip", max_iter=100_000)
    assert GroupPlan.draft(members[:2], long, secrecy="none").run_plan.timetable.n_slots > 100_000
    with pytest.raises(PlanError, match="max_iter is 100001"):
        learning("ratings", "gossip", max_iter=100_001)
    big = replace(
        PLAN,
        learning=replace(
            PLAN.learning, method=MethodChoice.of("ratings", "gossip", {"max_iter": 100_000})
        ),
    )
    with pytest.raises((PlanError, NetworkError)):
        big.require_same_timetable()


def test_a_plan_says_who_dials_whom() -> None:
    dials = {name: PLAN.dials(name) for name in (member.name for member in PLAN.members)}
    assert dials["clinic-d"] == ("clinic-a",)
    assert sum(map(len, dials.values())) == len(PLAN.links)
    for dialler, listeners in dials.items():
        assert all(dialler in PLAN.dialled_by(listener) for listener in listeners)
    assert PLAN.number_of("clinic-c") == 2
    with pytest.raises(PlanError, match="'clinic-z' is no member of the plan"):
        PLAN.number_of("clinic-z")


def test_a_file_that_is_no_plan_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    PLAN.save(path)
    assert read_plan(path) == PLAN
    path.write_text(altered("seed = 3", "seed = -1"))
    with pytest.raises(PlanError, match=r"plan\.toml: seed is -1"):
        read_plan(path)
    with pytest.raises(PlanError, match=r"absent\.toml cannot be read"):
        read_plan(tmp_path / "absent.toml")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "tasks"}, "features must be text"),
        ({"lowest": 1.0}, "give both, or neither"),
        ({"lowest": 2.0, "highest": 1.0}, "the lowest rating, 2, is not below the highest, 1"),
        ({"target": "y"}, "target is only for tasks"),
        ({"catalogue": ()}, "items must be a list of 1 to"),
        ({"catalogue": ("b", "a")}, "ascending order"),
        ({"catalogue": ("a\nb",)}, "control characters"),
        ({"catalogue": ("a" * 201,)}, "1 to 200 characters"),
        ({"catalogue": ("",)}, "1 to 200 characters"),
    ],
)
def test_learning_is_checked(change: dict[str, Any], reason: str) -> None:
    given: dict[str, Any] = {"rank": 1, "method": MethodChoice.of("ratings", "map", {})}
    with pytest.raises(PlanError, match=reason):
        Learning(**{"kind": "ratings", "catalogue": (1, 2), **given, **change})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"task": "y"}, "both 'y'"),
        ({"target": "f0"}, "also a feature"),
        ({"target": None}, "target must be text"),
        ({"lowest": 1.0, "highest": 2.0}, "a scale is only for ratings"),
    ],
)
def test_learning_of_tasks_is_checked(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        replace(learning("tasks"), **change)


def test_nothing_is_held_out_for_components() -> None:
    with pytest.raises(PlanError, match="nothing can be held out"):
        learning("pca", holdout=0.1)


@pytest.mark.parametrize(
    ("kind", "method", "options", "reason"),
    [
        ("ratings", "map", {"alpha": 1.0}, "has no option alpha; its options are regularization"),
        ("ratings", "bayes", {"regularization": 1.0}, "has no option regularization; it has none"),
        ("pca", "exact", {"alpha": 1.0}, "has no option alpha; it has none"),
        ("ratings", "map", {"regularization": 0.0}, "regularization is 0"),
        ("ratings", "gossip", {"regularization": "auto"}, "gossip cannot choose"),
        ("ratings", "baies", {}, "unknown method 'baies'; did you mean 'bayes'"),
        ("tasks", "exact-subspace", {}, "unknown method 'exact-subspace'"),
        ("tasks", "gossip", {"rho": -1.0}, "rho is -1"),
        ("tasks", "gossip", {"max_iter": 0}, "max_iter is 0"),
    ],
)
def test_methods_are_checked(kind: str, method: str, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        learning(kind, method, **options)
