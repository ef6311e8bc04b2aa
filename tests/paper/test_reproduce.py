"""Every case of the paper from end to end, at tiny sizes; and claims that can fail."""

import itertools
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.paper.test_case_types import RECORD
from tests.paper.test_curves import history
from tests.paper.tiny_cases import N_AGENTS, make_small_worlds, request_options, tiny_cases
from tests.real_data import FOLDER, real_file

import grassvine as gv
from grassvine.foundations.errors import DataError
from grassvine.paper import (
    CASES,
    Claim,
    Record,
    Reproduction,
    Request,
    Results,
    reproduce,
    write_index,
    write_reproduction,
)
from grassvine.paper.case import Finished
from grassvine.paper.cases import case1, case2, case3, case4, case5, case6, case7
from grassvine.paper.completion import CompletionExperiment
from grassvine.paper.ratings import BATCH as RTRMC
from grassvine.paper.ratings import RatingsExperiment
from grassvine.paper.real_tasks import ALT_MIN, BenchmarkExperiment
from grassvine.paper.synthetic_tasks import BATCH as TRUST_REGION
from grassvine.paper.variants import Variant

TINY = tiny_cases()
every_case = pytest.mark.parametrize("name", CASES)


@dataclass
class World:
    """Tiny cases, run when first asked for."""

    folder: Path
    done: dict[Any, Reproduction] = field(default_factory=dict)
    written: dict[str, tuple[Path, ...]] = field(default_factory=dict)

    def run(self, name: str, **options: Any) -> Reproduction:
        key = name, *sorted(options.items())
        if key not in self.done:
            self.done[key] = self.run_anew(name, **options)
        return self.done[key]

    def run_anew(self, name: str, **options: Any) -> Reproduction:
        with pytest.MonkeyPatch.context() as patch:
            file = make_small_worlds(patch, self.folder)
            return reproduce(TINY[name], Request(**request_options(name, file), **options))

    def write(self, name: str) -> tuple[Path, ...]:
        if name not in self.written:
            self.written[name] = write_reproduction(self.run(name), self.out / name)
        return self.written[name]

    @property
    def out(self) -> Path:
        return self.folder / "out"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


def records(done: Reproduction) -> list[dict[str, Any]]:
    """The figures of all runs, without the only one that depends on the machine's mood."""
    return [asdict(replace(one.record, cpu_seconds=0.0)) for one in done.results.finished]


def strict(text: str) -> Any:
    """Read JSON as the standard has it: without NaN and infinities."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


# The object

FIGURES = {
    "method": str,
    "dataset": str,
    "repeat": int,
    "n_agents": int,
    "rank": int,
    "updates": int,
    "train_mse": float,
    "worst_agent_train_mse": float,
    "consensus_distance": float,
    "messages": int,
    "bytes": int,
    "cpu_seconds": float,
}
OPTIONAL = {
    "rho": float,
    "test_mse": float,
    "test_rmse": float,
    "nmse": float,
    "distance_to_truth": float,
    "step": str,
}
SCORED_BY = {
    **dict.fromkeys(("fig1", "case1", "case2", "case3", "case4"), "test_mse"),
    "case5": "test_rmse",
    "case6": "distance_to_truth",
    "case7": "nmse",
}


@every_case
def test_a_case_is_one_object_of_the_promised_form(world: World, name: str) -> None:
    done = world.run(name)
    found = strict(json.dumps(done.as_object(), allow_nan=False))
    assert list(found) == ["case", "scale", "seed", "runs", "paper", "claims"]
    assert (found["case"], found["scale"], found["seed"]) == (name, "small", 0)
    assert found["runs"] and found["claims"] and isinstance(found["paper"], dict)
    for run in found["runs"]:
        assert set(run) == {*FIGURES, *OPTIONAL}
        assert all(type(run[figure]) is kind for figure, kind in FIGURES.items())
        for figure, kind in OPTIONAL.items():
            assert run[figure] is None or type(run[figure]) is kind
        assert run[SCORED_BY[name]] >= 0.0
        batch = "batch" in run["method"]
        assert (run["n_agents"] == 1) == (run["messages"] == 0) == batch
        assert run["worst_agent_train_mse"] >= run["train_mse"] * (1 - 1e-12)
        assert run["updates"] > 0
    for claim in found["claims"]:
        assert list(claim) == ["claim", "holds", "evidence"]
        assert claim["holds"] in (True, False, None)
        assert re.search(r"\d", claim["evidence"])


def test_what_is_no_finite_number_is_null() -> None:
    record = replace(RECORD, train_mse=math.nan, consensus_distance=math.inf, test_mse=-math.inf)
    done = Reproduction(CASES["case1"], Request(), Results((Finished(record),)), ())
    run = strict(json.dumps(done.as_object(), allow_nan=False))["runs"][0]
    assert run["train_mse"] is run["consensus_distance"] is run["test_mse"] is None
    assert run["worst_agent_train_mse"] == RECORD.worst_agent_train_mse


@every_case
def test_the_exact_method_stands_beside_the_papers(world: World, name: str) -> None:
    runs = [one for one in records(world.run(name)) if one["method"].startswith("exact")]
    assert {run["method"] for run in runs} >= {"exact (tree sums)"}
    # All agents stand at the same point; its distance from itself is known up to rounding.
    assert max(run["consensus_distance"] for run in runs) < 1e-14


# The files


@every_case
def test_pages_figures_and_numbers_are_written(world: World, name: str) -> None:
    paths = world.write(name)
    pictures = [path.stem for path in paths if path.suffix == ".png"]
    assert pictures[0] == name
    wanted = {f"{name}.{kind}" for kind in ("html", "md", "json")}
    wanted |= {f"{picture}.{kind}" for picture in pictures for kind in ("png", "svg")}
    assert {path.name for path in paths} == wanted == set(os.listdir(world.out / name))
    assert (world.out / name / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (world.out / name / f"{name}.svg").read_bytes()
    text = (world.out / name / f"{name}.json").read_text()
    assert strict(text) == strict(json.dumps(world.run(name).as_object()))


@every_case
def test_a_page_needs_nothing_else_and_shows_every_claim(world: World, name: str) -> None:
    world.write(name)
    html, markdown = ((world.out / name / f"{name}.{k}").read_text() for k in ("html", "md"))
    assert set(re.findall(r'(?:src|href)="([^"]{0,22})', html)) == {"data:image/svg+xml;bas"}
    assert not re.search(r"<script|<link|@import|url\(|https?://", html)
    assert f"<h1>{CASES[name].title}</h1>" in html
    verdicts = {True: "✓ holds", False: "✗ does not hold", None: "? not decided"}
    for page in (html, markdown):
        for holds, words in verdicts.items():
            found = sum(claim.holds is holds for claim in world.run(name).claims)
            assert page.count(words) == found
    for shown in world.run(name).results.each("method"):
        assert shown.removesuffix(" (batch)") in html
    for picture in re.findall(r"!\[.*\]\((.*)\)", markdown):
        assert (world.out / name / picture).is_file()


def test_the_index_names_every_case_and_what_was_not_run(world: World, tmp_path: Path) -> None:
    done = [world.run("case1"), world.run("case6")]
    paths = write_index(done, {"case5": "no ratings; get them."}, tmp_path)
    assert [path.name for path in paths] == ["index.md", "index.html"]
    for text in (path.read_text() for path in paths):
        for words in (CASES["case1"].title, CASES["case6"].title, "case5", "no ratings; get them."):
            assert words in text
        assert re.search(r"case1\.(html|md)", text)


# Seeds and requests


@every_case
def test_the_same_seed_gives_the_same_figures_and_another_seed_others(
    world: World, name: str
) -> None:
    first = world.run(name)
    again = world.run_anew(name)
    other = world.run(name, seed=1)
    assert records(again) == records(first)
    for mine, theirs in zip(records(first), records(other), strict=True):
        assert mine["train_mse"] != theirs["train_mse"]


@every_case
def test_the_number_of_agents_is_respected(world: World, name: str) -> None:
    usual = {record["n_agents"] for record in records(world.run(name))} - {1}
    assert usual == ({2, N_AGENTS} if name == "case5" else {N_AGENTS})
    asked = {record["n_agents"] for record in records(world.run(name, n_agents=4))} - {1}
    assert asked == {4}
    assert all(re.search(r"\d", claim.evidence) for claim in world.run(name, n_agents=4).claims)


@pytest.mark.parametrize("name", ["case3", "case5", "case6"])
def test_repeats_are_runs_of_the_seeds_that_follow(world: World, name: str) -> None:
    first, second = (records(world.run(name, seed=seed)) for seed in (0, 1))
    both = records(world.run(name, repeats=2))
    assert [one for one in both if one["repeat"] == 0] == first
    assert [one | {"repeat": 0} for one in both if one["repeat"] == 1] == second


def test_the_engine_and_the_watch_of_a_request_are_used(world: World) -> None:
    titles: list[str] = []

    @dataclass
    class Bar:
        n_slots: int
        seen: int = 0

        def __call__(self, report: gv.protocol.StepReport) -> None:
            self.seen += 1

        def __enter__(self) -> "Bar":
            return self

        def __exit__(self, *_: object) -> None:
            assert self.seen > self.n_slots > 0

    def watch(title: str, n_slots: int) -> Bar:
        titles.append(title)
        return Bar(n_slots)

    class Counted(gv.LocalEngine):
        count = 0

        def run(self, *given: Any) -> Any:
            Counted.count += 1
            return super().run(*given)

    done = world.run_anew("case2", engine=Counted(), watch=watch)
    assert titles == done.results.each("method") and Counted.count == 5
    assert records(done) == records(world.run("case2"))


@pytest.mark.parametrize("name", ["case4", "case5", "case6", "case7"])
def test_tuning_adds_runs_and_changes_none(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = make_small_worlds(monkeypatch, tmp_path)
    experiment = first_methods(tiny_cases(slots=2)[name].experiment)
    options = request_options(name, file) | {"n_agents": 2}
    plain, tuned = (
        [asdict(replace(one.record, cpu_seconds=0.0)) for one in results.finished]
        for results in (
            experiment.run(Request(**options)),
            experiment.run(Request(**options, tune=True)),
        )
    )
    assert [one for one in tuned if not one["method"].endswith(", tuned")] == plain
    added = [one for one in tuned if one["method"].endswith(", tuned")]
    gossip = [one for one in plain if one["step"] is not None]
    assert gossip
    assert [one["method"] for one in added] == [f"{one['method']}, tuned" for one in gossip]
    assert all(one["step"].startswith("a = ") for one in added)


def first_methods(experiment: Any) -> Any:
    """Fewer methods and ranks, for tuning takes a hundred runs each."""
    match experiment:
        case CompletionExperiment():
            return replace(experiment, methods=experiment.methods[:2])
        case RatingsExperiment():
            return replace(experiment, small_ranks=(2,))
        case BenchmarkExperiment():
            return replace(experiment, variants=experiment.variants[:1], ranks={"small": (2,)})
        case _:
            return replace(experiment, variants=experiment.variants[:1])


# Real data, and data that are absent


def test_case_7_runs_on_the_real_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    real_file("parkinsons/parkinsons_updrs.data")
    monkeypatch.setenv("GRASSVINE_DATA", str(FOLDER))
    experiment = CASES["case7"].experiment
    assert isinstance(experiment, BenchmarkExperiment)
    small = replace(experiment, ranks={"small": (3,)}, variants=(case7.PRECON,))
    request = Request(repeats=1, datasets=("parkinsons",))
    done = reproduce(replace(CASES["case7"], experiment=small), request)
    baseline, bayes, gossip = (one.record for one in done.results.finished)
    methods = baseline.method, bayes.method, gossip.method
    assert methods == (ALT_MIN, case7.BAYES.name, case7.PRECON.name)
    # The paper prints .340 for Alt-Min and .345 at rank 3; splits differ by about .02.
    assert baseline.nmse == pytest.approx(0.340, abs=0.03)
    assert gossip.nmse == pytest.approx(0.345, abs=0.03)
    assert bayes.nmse is not None and bayes.nmse == pytest.approx(0.340, abs=0.03)
    assert sum(len(of_agent) for of_agent in done.results.first.traces["nmse"]) == 42


@pytest.mark.parametrize(
    ("name", "datasets", "message"),
    [
        ("case5", ("ml-100kk",), "unknown data set 'ml-100kk'; did you mean 'ml-100k'.*Or pass"),
        ("case5", ("school",), "contains tasks, not ratings"),
        ("case7", ("ml-100k",), "contains ratings, not tasks"),
        ("case7", ("scool",), "unknown data set 'scool'; did you mean 'school'"),
    ],
)
def test_other_data_sets_are_refused(name: str, datasets: tuple[str, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        CASES[name].experiment.run(Request(datasets=datasets))


@pytest.mark.parametrize(("name", "title"), [("case5", "MovieLens 100K"), ("case7", "Parkinsons")])
def test_absent_data_are_named_with_the_way_to_get_them(
    name: str, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRASSVINE_DATA", str(tmp_path))
    monkeypatch.setattr("grassvine.datasets.store.cache_folder", lambda: tmp_path / "cache")
    with pytest.raises(DataError, match=f"{title}.* not found at .*; run 'grassvine data fetch"):
        CASES[name].experiment.run(Request())


def test_errors_on_real_ratings_do_not_depend_on_the_agents_of_the_batch_method(
    world: World,
) -> None:
    batch = [
        [one for one in records(world.run("case5", **options)) if one["method"] == RTRMC]
        for options in ({}, {"n_agents": 4})
    ]
    assert batch[0] == batch[1] and len(batch[0]) == 2


def test_the_exact_method_predicts_as_the_batch_method_does_whoever_holds_the_ratings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = make_small_worlds(monkeypatch, tmp_path)
    experiment = TINY["case5"].experiment
    assert isinstance(experiment, RatingsExperiment)
    whole = replace(experiment, beside=(case5.EXACT, case5.WITH_BIASES, case5.BAYES))
    results = whole.run(Request(datasets=(str(file),)))
    for rank, variant in itertools.product((2, 3), whole.beside):
        runs = results.where(method=variant.name, rank=rank)
        assert runs.each("n_agents") == [2, N_AGENTS]
        few, many = runs.values("test_rmse")
        assert few == pytest.approx(many, rel=case5.EQUAL)
    # Beyond rank 2, which the ratings were made with, there is more than one optimum.
    batch = results.where(method=RTRMC, rank=2).mean("test_rmse")
    found = results.where(method=case5.EXACT.name, rank=2).values("test_rmse")
    assert found == pytest.approx(batch, abs=case5.EQUAL)


def test_two_files_of_the_same_name_are_two_data_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As are ratings.dat of MovieLens 1M and 10M."""
    file = make_small_worlds(monkeypatch, tmp_path)
    other = tmp_path / "other" / file.name
    other.parent.mkdir()
    other.write_text("".join(file.read_text().splitlines(keepends=True)[:-40]))
    request = Request(datasets=(str(file), str(other)))
    assert len(TINY["case5"].experiment.run(request).each("dataset")) == 2


# Claims

Fields = Mapping[str, Any]
# What a run looks like: fields of a record, and "mse" and "distance" of agents 1 and 2 by update.
Runs = Mapping[Any, Fields]


def made(runs: Runs) -> Results:
    finished = []
    for fields in runs.values():
        plain = {name: value for name, value in fields.items() if name in Record.__slots__}
        errors, apart = (fields.get(name, (1.0,)) for name in ("mse", "distance"))
        length = max(len(errors), len(apart))
        rows = [
            (agent, curve[0][min(k, len(errors) - 1)], curve[1][min(k, len(apart) - 1)])
            for k in range(length + 1)
            for curve in [(errors, apart)]
            for agent in (0, 1)
        ]
        traces = {name: fields[name] for name in ("nmse by agent",) if name in fields}
        finished.append(
            Finished(
                replace(RECORD, **plain),
                history(*rows),
                {"nmse": traces["nmse by agent"]} if traces else {},
            )
        )
    return Results(tuple(finished))


def method(name: str, **fields: Any) -> dict[str, Any]:
    return {"method": name, **fields}


def of_case5(n_agents: int, rank: int, rmse: float, apart: float) -> dict[str, Any]:
    return method(
        case5.GOSSIP,
        n_agents=n_agents,
        rank=rank,
        test_rmse=rmse,
        consensus_distance=apart,
        distance=(1.0, 1e-3),
    )


def beside(variant: Variant, n_agents: int, rank: int, rmse: float) -> dict[str, Any]:
    return method(variant.name, n_agents=n_agents, rank=rank, test_rmse=rmse)


def of_case7(name: str, rank: int, *by_agent: float) -> dict[str, Any]:
    traces = [np.array([value, value]) for value in by_agent]
    nmse = float(np.mean(by_agent))
    return method(name, rank=rank, nmse=nmse, dataset="school", **{"nmse by agent": traces})


FALLING, STUCK = (1.0, 1e-3, 1e-11, 1e-13), (1.0, 0.5, 0.4, 0.3)
SLOW = (*(1.0,) * 9, 1e-11)

GOOD: dict[str, Runs] = {
    "fig1": {
        "curved": method(
            "Grassmann", worst_agent_train_mse=1e-12, consensus_distance=1e-7, mse=FALLING
        ),
        "flat": method("Euclidean", worst_agent_train_mse=1e-3, consensus_distance=1e-2, mse=SLOW),
    },
    "case1": {
        "both": method(case1.BALANCED.name, worst_agent_train_mse=9e-13, consensus_distance=1e-7),
        "only": method(case1.CONSENSUS_ONLY.name, train_mse=4.9, consensus_distance=1e-6),
    },
    "case2": {
        "one": method(case2.STOCHASTIC.name, train_mse=1.0, test_mse=2.0, consensus_distance=1e-6),
        "other": method(case2.PARALLEL.name, train_mse=1.5, test_mse=3.0, consensus_distance=1e-6),
    },
    "case3": {
        "plain": method(case3.PLAIN.name, train_mse=0.1, consensus_distance=1e-4, mse=STUCK),
        "precon": method(
            case3.PRECONDITIONED.name, train_mse=0.01, consensus_distance=1e-4, mse=FALLING
        ),
    },
    "case4": {
        "gossip": method(
            case4.GOSSIP.name, worst_agent_train_mse=9e-13, mse=FALLING, distance=FALLING
        ),
        "fixed": method(case4.FIXED.name, worst_agent_train_mse=1e-9, mse=STUCK, distance=STUCK),
        "adaptive": method(
            case4.ADAPTIVE.name, worst_agent_train_mse=9e-13, mse=STUCK, distance=STUCK
        ),
    },
    "case5": {
        "few, low": of_case5(5, 3, 0.900, 1e-4),
        "few, high": of_case5(5, 9, 0.890, 1e-3),
        "many, low": of_case5(10, 3, 0.901, 2e-4),
        "many, high": of_case5(10, 9, 0.905, 2e-3),
        "batch, low": method(RTRMC, n_agents=1, rank=3, test_rmse=0.895),
        "batch, high": method(RTRMC, n_agents=1, rank=9, test_rmse=0.890),
        "exact, few": beside(case5.EXACT, 5, 3, 0.895 - 5e-7),
        "exact, many": beside(case5.EXACT, 10, 9, 0.890 + 5e-7),
        "biases, few": beside(case5.WITH_BIASES, 5, 3, 0.885),
        "biases, many": beside(case5.WITH_BIASES, 10, 9, 0.886),
        "bayes, few": beside(case5.BAYES, 5, 3, 0.884),
        "bayes, many": beside(case5.BAYES, 10, 9, 0.880),
    },
    "case6": {
        "gossip": method(case6.GOSSIP.name, distance_to_truth=2e-7),
        "batch": method(TRUST_REGION, distance_to_truth=1e-7),
    },
    "case7": {
        "low": of_case7(case7.PRECON.name, 3, 0.75, 0.77),
        "high": of_case7(case7.PRECON.name, 5, 0.76, 0.78),
        "batch": of_case7(ALT_MIN, 28, 0.76, 0.78),
        "exact, low": of_case7(case7.EXACT.name, 3, 0.74, 0.76),
        "exact, high": of_case7(case7.EXACT.name, 5, 0.75, 0.77),
        "bayes": of_case7(case7.BAYES.name, 28, 0.73, 0.75),
    },
}

# What makes a claim, by its place, fail: one run with other figures.
BAD: list[tuple[str, int, str, Fields]] = [
    ("fig1", 0, "flat", {"mse": FALLING}),
    ("fig1", 1, "curved", {"worst_agent_train_mse": 9e-4}),
    ("fig1", 2, "curved", {"consensus_distance": 2e-5}),
    ("fig1", 2, "flat", {"consensus_distance": 1e-7}),
    ("case1", 0, "both", {"worst_agent_train_mse": 2e-12}),
    ("case1", 0, "both", {"consensus_distance": 2e-5}),
    ("case1", 0, "both", {"worst_agent_train_mse": math.nan}),
    ("case1", 1, "only", {"train_mse": 0.5}),
    ("case1", 1, "only", {"consensus_distance": 0.1}),
    ("case2", 0, "other", {"train_mse": 2.1}),
    ("case2", 0, "one", {"train_mse": 0.7}),
    ("case2", 1, "one", {"test_mse": 6.1}),
    ("case2", 2, "one", {"consensus_distance": 1e-4}),
    ("case2", 2, "other", {"consensus_distance": 1e-4}),
    ("case3", 0, "precon", {"mse": (1.0, 0.9)}),
    ("case3", 1, "precon", {"train_mse": 0.1}),
    ("case3", 2, "plain", {"consensus_distance": 2e-3}),
    ("case4", 0, "fixed", {"mse": (1.0, 1e-14)}),
    ("case4", 1, "fixed", {"mse": (1e-11, 1e-11)}),
    ("case4", 1, "gossip", {"mse": STUCK}),
    ("case4", 2, "gossip", {"distance": STUCK}),
    ("case4", 2, "fixed", {"distance": (1e-6, 1e-6)}),
    ("case4", 3, "adaptive", {"mse": (1.0, 1e-14)}),
    ("case4", 4, "adaptive", {"mse": (1e-11, 1e-11)}),
    ("case4", 5, "adaptive", {"distance": (1e-6, 1e-6)}),
    ("case4", 6, "gossip", {"worst_agent_train_mse": 2e-12}),
    ("case4", 6, "fixed", {"worst_agent_train_mse": 1e-12}),
    ("case4", 6, "adaptive", {"worst_agent_train_mse": 2e-12}),
    ("case5", 0, "few, high", {"test_rmse": 0.911}),
    ("case5", 0, "batch, low", {"test_rmse": 0.880}),
    ("case5", 1, "many, high", {"test_rmse": 0.8905}),
    ("case5", 2, "many, high", {"consensus_distance": 1e-4}),
    ("case5", 3, "many, high", {"test_rmse": 0.9}),
    ("case5", 4, "few, low", {"consensus_distance": 0.2}),
    ("case5", 5, "exact, few", {"test_rmse": 0.895 - 2e-6}),
    ("case5", 5, "exact, many", {"test_rmse": 0.890 + 2e-6}),
    ("case5", 5, "exact, few", {"test_rmse": math.nan}),
    ("case5", 6, "biases, few", {"test_rmse": 0.895}),
    ("case5", 6, "biases, many", {"test_rmse": math.nan}),
    ("case5", 7, "bayes, few", {"test_rmse": 0.8851}),
    ("case5", 7, "bayes, many", {"test_rmse": math.nan}),
    ("case6", 0, "gossip", {"distance_to_truth": 2e-6}),
    ("case6", 0, "gossip", {"distance_to_truth": math.nan}),
    ("case7", 0, "high", {"nmse": 0.80}),
    ("case7", 1, "low", {"nmse": 0.77}),
    ("case7", 2, "low", {"nmse by agent": [np.array([0.77]), np.array([0.79])]}),
    ("case7", 3, "low", {"nmse": 0.80}),
    ("case7", 4, "exact, low", {"nmse": 0.76}),
    ("case7", 4, "exact, high", {"nmse": math.nan}),
    ("case7", 5, "bayes", {"nmse": 0.76}),
]


@every_case
def test_good_figures_make_every_claim_hold(name: str) -> None:
    claims = CASES[name].claims(made(GOOD[name]))
    assert [claim.holds for claim in claims] == [True] * len(claims)
    assert {place for case, place, _, _ in BAD if case == name} == set(range(len(claims)))


@pytest.mark.parametrize(("name", "place", "run", "figures"), BAD)
def test_a_claim_does_not_hold_with_bad_figures(
    name: str, place: int, run: str, figures: Fields
) -> None:
    runs = {**GOOD[name], run: {**GOOD[name][run], **figures}}
    claim = CASES[name].claims(made(runs))[place]
    assert claim.holds is False
    assert claim.evidence != CASES[name].claims(made(GOOD[name]))[place].evidence


def test_flat_space_is_not_slow_where_the_manifold_is_as_slow() -> None:
    runs = {key: {**fields, "mse": STUCK} for key, fields in GOOD["fig1"].items()}
    assert CASES["fig1"].claims(made(runs))[0].holds is False


def test_a_claim_about_what_was_not_varied_is_not_decided() -> None:
    kept = ("few, low", "batch, low", "exact, few", "biases, few", "bayes, few")
    one = {key: GOOD["case5"][key] for key in kept}
    assert [claim.holds for claim in CASES["case5"].claims(made(one))] == [
        True,
        None,
        None,
        None,
        True,
        True,
        True,
        True,
    ]


def test_claims_are_made_for_every_data_set() -> None:
    both = Results(
        tuple(
            replace(one, record=replace(one.record, dataset=dataset))
            for dataset in ("here", "there")
            for one in made(GOOD["case5"]).finished
        )
    )
    claims: list[Claim] = list(CASES["case5"].claims(both))
    assert [claim.claim.split(":")[0] for claim in claims] == ["here"] * 8 + ["there"] * 8
