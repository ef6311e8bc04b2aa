"""``grassvine peer`` as people call it: two houses, one plan, the words, and a model each."""

import importlib.util
import io
import json
import re
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer
from tests.cli.commands import Command, rating_lines, write_ratings
from tests.peers.joining.test_join import Meeting

import grassvine as gv
from grassvine.peers.identity.words import words_of
from grassvine.peers.joining.join import metrics
from grassvine.peers.joining.member_data import read_member_data
from grassvine.peers.plan.group_plan import read_plan


@pytest.fixture
def houses(grassvine: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two identities, their cards, a catalogue and a plan, made by commands in one folder."""
    monkeypatch.chdir(tmp_path)
    assert (
        grassvine("peer", "init", "clinic-a", "--listen", "a.example:443", "--folder", "a").code
        == 0
    )
    assert grassvine("peer", "init", "clinic-b", "--dial-only", "--folder", "b").code == 0
    write_ratings(tmp_path / "ratings.csv", rating_lines())
    drafted = grassvine(
        *("peer", "plan", "clinic-a.card", "clinic-b.card", "--kind", "ratings"),
        *("--items", "ratings.csv", "--rank", 2, "-o", "plan.toml", "--secrecy", "none"),
    )
    assert drafted.code == 0, drafted.err
    return tmp_path


def test_init_writes_a_private_folder_and_a_public_card(grassvine: Command, houses: Path) -> None:
    assert stat.S_IMODE((houses / "a").stat().st_mode) == 0o700
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in (houses / "a").iterdir()}
    assert modes == {"p256.key": 0o600, "x25519.key": 0o600, "own.card": 0o600}
    assert "PRIVATE" not in (houses / "clinic-a.card").read_text()
    again = grassvine("peer", "init", "clinic-a", "--dial-only", "--folder", "c")
    assert (again.code, again.out) == (7, "") and "never overwritten" in again.err
    assert not (houses / "c").exists()
    (houses / "clinic-a.card").unlink()
    again = grassvine("peer", "init", "clinic-a", "--dial-only", "--folder", "a")
    assert again.code == 7 and "never overwritten" in again.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("clinic-x",), "either --listen with an address, or --dial-only"),
        (("clinic-x", "--dial-only", "--listen", "a:1"), "either --listen"),
        (("Clinic", "--dial-only"), "not a name of a member"),
        (("clinic-x", "--listen", "nowhere"), "not an address"),
    ],
)
def test_init_refuses_with_one_sentence(
    grassvine: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = grassvine("peer", "init", *arguments, "--folder", "own")
    assert done.code == 3 and says in done.err and done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_nothing_secret_is_printed(
    grassvine: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = ""
    for more in ((), ("--json",)):
        done = grassvine(
            "peer",
            "init",
            f"clinic{len(more)}",
            "--dial-only",
            "--folder",
            f"own{len(more)}",
            *more,
        )
        assert done.code == 0
        said += done.out + done.err
    for folder in ("own0", "own1"):
        for file in ("p256.key", "x25519.key"):
            for line in (tmp_path / folder / file).read_text().splitlines():
                assert line not in said


def test_a_plan_is_the_same_for_all(grassvine: Command, houses: Path) -> None:
    plan = read_plan(houses / "plan.toml")
    assert plan.links == (("clinic-b", "clinic-a"),)
    assert plan.learning.holdout == 0.1 and plan.learning.n_items == 15
    again = grassvine(
        *("peer", "plan", "clinic-b.card", "clinic-a.card", "--kind", "ratings"),
        *(
            "--items",
            "ratings.csv",
            "--rank",
            2,
            "-o",
            "again.toml",
            "--json",
        ),
        *("--secrecy", "none"),
    )
    assert again.object["words"] == words_of(plan.digest)
    assert (houses / "again.toml").read_bytes() == (houses / "plan.toml").read_bytes()
    refused = grassvine(
        *("peer", "plan", "clinic-a.card", "clinic-b.card", "--kind", "pca", "--features", "x,y"),
        *("--rank", 1, "-o", "plan.toml", "--secrecy", "none"),
    )
    assert refused.code == 7 and "already exists" in refused.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--kind", "ratings"), "takes --items, not --features"),
        (("--kind", "pca", "--items", "ratings.csv"), "takes --features, not --items"),
        (("--kind", "films", "--items", "ratings.csv"), "unknown kind 'films'"),
        (("--kind", "ratings", "--items", "ratings.csv", "--rank", "16"), "--rank is 16, but"),
        (("--kind", "ratings", "--items", "ratings.csv", "--alpha", "1"), "has no option alpha"),
        (("--kind", "ratings", "--items", "ratings.csv", "--rho", "much"), "--rho is 'much'"),
        (("--kind", "ratings", "--items", "ratings.csv", "--lowest", "1"), "give both"),
        (("--kind", "ratings", "--items", "ratings.csv", "--network", "web"), "unknown network"),
        (("--kind", "ratings", "--items", "ratings.csv", "--holdout", "1"), "--holdout is 1"),
        (("--kind", "ratings", "--items", "ratings.csv", "--patience", "0"), "patience is 0"),
        (("--kind", "pca", "--features", "x,x", "--rank", "1"), "has an entry twice"),
        (("--kind", "tasks", "--features", "x", "--rank", "1"), "target must be text"),
        (("--kind", "pca", "--features", "x,y", "--rank", "1"), "or choose --secrecy none if both"),
        (
            ("--kind", "pca", "--features", "x,y", "--rank", "1", "--secrecy", "some"),
            "unknown secrecy 'some'",
        ),
        (
            ("--kind", "pca", "--features", "x,y", "--rank", "1", "--min-support", "0"),
            "--min-support is 0",
        ),
    ],
)
def test_plan_refuses_with_one_sentence(
    grassvine: Command, houses: Path, arguments: tuple[str, ...], says: str
) -> None:
    done = grassvine("peer", "plan", "clinic-a.card", "clinic-b.card", *arguments, "-o", "p.toml")
    assert done.code == 3 and says in done.err, done.err
    assert not (houses / "p.toml").exists()


def test_tasks_and_components_are_planned(grassvine: Command, houses: Path) -> None:
    common = (
        "peer",
        "plan",
        "clinic-a.card",
        "clinic-b.card",
        "--features",
        "a, b,c",
        "--rank",
        2,
        "--json",
    )
    tasks = grassvine(
        *(*common, "--kind", "tasks", "--target", "y", "--task", "school", "-o", "t.toml"),
        *("--secrecy", "none"),
    )
    assert tasks.object["features"] == 3
    pca = grassvine(*common, "--kind", "pca", "--method", "gossip", "-o", "p.toml")
    assert pca.object["method"] == "gossip"
    assert read_plan(houses / "t.toml").learning.catalogue == ("a", "b", "c")


def test_three_houses_mask_by_default(grassvine: Command, houses: Path) -> None:
    assert grassvine("peer", "init", "clinic-c", "--dial-only", "--folder", "c").code == 0
    cards = ("clinic-a.card", "clinic-b.card", "clinic-c.card")
    common = ("peer", "plan", *cards, "--kind", "ratings", "--items", "ratings.csv", "--rank", 2)
    without_scale = grassvine(*common, "-o", "masked.toml")
    assert without_scale.code == 3 and "give --lowest and --highest" in without_scale.err
    drafted = grassvine(*common, "--lowest", 1, "--highest", 5, "-o", "masked.toml", "--json")
    assert (drafted.object["secrecy"], drafted.object["min_support"]) == ("masked", 5)
    said = " ".join(grassvine("peer", "explain", "masked.toml").out.split())
    for part in (
        "learns nothing: it is uniform noise",
        "Sums are masked",
        "is not differential privacy",
    ):
        assert part in said
    assert "not masked" not in said


def test_explain_lists_what_leaves_each_house(grassvine: Command, houses: Path) -> None:
    said = grassvine("peer", "explain", "plan.toml").out
    for part in ("clinic-a sends", "clinic-b sends", "exact list of items", "not masked"):
        assert part in said
    one = grassvine("peer", "explain", "plan.toml", "--member", "clinic-b", "--json").object
    assert set(one["sent"]) == {"clinic-b"}
    assert one["words"] == words_of(read_plan(houses / "plan.toml").digest) and one["words"] in said
    assert {row["to"][0] for row in one["sent"]["clinic-b"]} == {"clinic-a"}
    wrong = grassvine("peer", "explain", "plan.toml", "--member", "clinic-z")
    assert wrong.code == 3 and "its members are clinic-a, clinic-b" in wrong.err


def test_doctor_and_status_before_a_run(grassvine: Command, houses: Path) -> None:
    done = grassvine("peer", "doctor", "plan.toml", "--folder", "a", "--json")
    checks = {one["check"]: one for one in json.loads(done.out)["checks"]}
    assert checks["identity"]["says"].startswith("clinic-a")
    assert "clinic-b dials this member" in checks["link with clinic-b"]["says"]
    status = grassvine("peer", "status", "plan.toml", "--folder", "a")
    assert status.code == 3 and "no run was started" in status.err


def test_a_plan_that_was_altered_is_refused_by_name(grassvine: Command, houses: Path) -> None:
    text = (houses / "plan.toml").read_text()
    (houses / "plan.toml").write_text(text.replace("rank = 2", "rank = 20"))
    for command in ("explain", "doctor", "status"):
        done = grassvine("peer", command, "plan.toml")
        assert done.code == 3 and "plan.toml: " in done.err and "there are 15 items" in done.err


def split_by_owner(houses: Path) -> list[Path]:
    frame = pl.read_csv(houses / "ratings.csv", schema_overrides={"item": pl.String})
    paths = []
    for number in (0, 1):
        part = frame.filter(pl.col("owner") == f"house {number}").drop("owner")
        paths.append(houses / f"own-{number}.csv")
        part.write_csv(paths[-1])
    return paths


class Both(Meeting):
    """Runs the member together with the other one, whose table lies beside."""

    def __init__(self, houses: Path):
        super().__init__(1)
        self.houses = houses

    def __call__(self, plan, identity, create, timetable, journal, patience, observe=None):  # type: ignore[no-untyped-def]
        number = plan.number_of(identity.card.name)
        other = 1 - number
        data = read_member_data(plan, str(self.houses / f"own-{other}.csv")).data
        self.agents[other] = lambda: plan.run_plan.agent(other, data)
        return super().__call__(plan, identity, create, timetable, journal, patience)


def joining(houses: Path, monkeypatch: pytest.MonkeyPatch) -> Both:
    """Let the command run the member on the local engine."""
    both = Both(houses)
    monkeypatch.setattr("grassvine.peers.joining.run.run_peer", both)
    return both


def test_joining_with_the_words_ends_with_a_model_that_all_commands_take(
    grassvine: Command, houses: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split_by_owner(houses)
    joining(houses, monkeypatch)
    words = words_of(read_plan(houses / "plan.toml").digest)
    metrics, shared = [], []
    for number, name in enumerate("ab"):
        done = grassvine(
            *("peer", "join", "plan.toml", f"own-{number}.csv", "-o", f"model-{name}"),
            *("--folder", name, "--words", words.upper(), "--json"),
        )
        assert "not masked" in done.err
        found = done.object
        metrics.append(found["held_out_rmse"])
        assert found["ratings"] == 160
        shared.append((houses / f"model-{name}" / "model.json").read_bytes())
    assert metrics[0] == metrics[1] and shared[0] == shared[1]
    described = grassvine("inspect", "model-a", "--json").object
    assert described["kind"] == "ratings" and described["card"]["data_hash"] is None
    best = grassvine("recommend", "model-a", "--user", "100", "-k", 3, "--json").object
    assert len(best["recommendations"]) == 3
    pl.DataFrame({"user": ["100"], "item": ["003"]}).write_csv(houses / "pairs.csv")
    assert grassvine("predict", "model-a", "pairs.csv").code == 0
    (houses / "new.csv").write_text("user,item,rating\n999,003,4\n999,005,2\n")
    assert grassvine("fold-in", "model-a", "new.csv", "-k", 2).code == 0
    unknown = grassvine("recommend", "model-a", "--user", "101")
    assert unknown.code == 3  # a user of the other house


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--words", "zoo zoo zoo zoo zoo zoo zoo zoo"), "not the words of this plan"),
        ((), "nobody can be asked here"),
        (("--yes", "--patience", "0"), "--patience is 0"),
    ],
)
def test_without_the_words_nothing_is_run(
    grassvine: Command,
    houses: Path,
    monkeypatch: pytest.MonkeyPatch,
    more: tuple[str, ...],
    says: str,
) -> None:
    split_by_owner(houses)
    both = joining(houses, monkeypatch)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    done = grassvine(
        "peer", "join", "plan.toml", "own-0.csv", "-o", "model", "--folder", "a", *more
    )
    assert done.code == 3 and says in done.err
    assert (
        not both.agents and not (houses / "model").exists() and not (houses / "a" / "runs").exists()
    )


@pytest.mark.parametrize("answer", ["y", "n"])
def test_somebody_at_the_keyboard_is_asked(
    grassvine: Command, houses: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    split_by_owner(houses)
    both = joining(houses, monkeypatch)
    keyboard = io.StringIO(f"{answer}\n")
    monkeypatch.setattr(keyboard, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", keyboard)
    asked: list[str] = []

    def confirm(text: str, *, err: bool) -> bool:
        asked.append(text)
        return answer == "y"

    monkeypatch.setattr(typer, "confirm", confirm)
    done = grassvine("peer", "join", "plan.toml", "own-0.csv", "-o", "model", "--folder", "a")
    assert len(asked) == 1 and words_of(read_plan(houses / "plan.toml").digest) in done.err
    assert (done.code == 0) == (answer == "y") == bool(both.agents)
    if answer == "n":
        assert "nothing has left this house" in done.err


def test_data_outside_the_catalogue_are_refused_before_anybody_is_asked(
    grassvine: Command, houses: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joining(houses, monkeypatch)
    (houses / "own.csv").write_text("user,item,rating\nu,003,4\nu,999,4\n")
    done = grassvine(
        "peer", "join", "plan.toml", "own.csv", "-o", "model", "--folder", "a", "--yes"
    )
    assert done.code == 3 and "1 of 2 items are not in the plan's catalogue ('999')" in done.err


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def test_two_processes_join_over_tls(
    grassvine: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole ceremony, with nothing exchanged: the model is that of one run on both tables."""
    monkeypatch.chdir(tmp_path)
    address = f"127.0.0.1:{free_port()}"
    grassvine("peer", "init", "clinic-a", "--listen", address, "--folder", "a")
    grassvine("peer", "init", "clinic-b", "--dial-only", "--folder", "b")
    write_ratings(tmp_path / "ratings.csv", rating_lines())
    drafted = grassvine(
        *("peer", "plan", "clinic-a.card", "clinic-b.card", "--kind", "ratings"),
        *("--items", "ratings.csv", "--rank", 2),
        *("-o", "plan.toml", "--patience", 60, "--secrecy", "none", "--json"),
    ).object
    tables = split_by_owner(tmp_path)
    has_live = all(map(importlib.util.find_spec, ("starlette", "sse_starlette", "uvicorn")))
    program = [sys.executable, "-c", "from grassvine.cli import main; main()", "peer", "join"]
    running = [
        subprocess.Popen(
            [
                *program,
                "plan.toml",
                str(table),
                "-o",
                f"model-{name}",
                "--folder",
                name,
                "--words",
                drafted["words"],
                "--json",
                *(["--live"] if name == "a" and has_live else []),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, table in zip("ab", tables, strict=True)
    ]
    ended = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0], ended
    assert ("live page: http://127.0.0.1:" in ended[0][1]) == has_live
    reports = [json.loads(out) for out, _ in ended]
    plan = read_plan(tmp_path / "plan.toml")
    data = [read_member_data(plan, str(table)).data for table in tables]
    local = gv.run(plan.run_plan, data)
    assert {one["held_out_rmse"] for one in reports} == {metrics(local.states[0])["held_out_rmse"]}
    wanted: Any = data[0].model(local.states[0])
    for name in "ab":
        model: Any = gv.load(tmp_path / f"model-{name}")
        assert model.shared.factors.tobytes() == wanted.shared.factors.tobytes()
    status = grassvine("peer", "status", "plan.toml", "--folder", "a", "--json").object
    assert (status["state"], status["process_lives"]) == ("finished", False)
    assert status["bytes_sent"] > 0 < status["bytes_received"]
    assert set(status["clocks"]) == {"clinic-b"} and status["waiting_for"] == []
    shown = grassvine("peer", "status", "plan.toml", "--folder", "a").out
    assert re.search(r"updated +20\d\d-\d\d-\d\d \d\d:\d\d:\d\d[+-]", shown)
    assert re.search(r"clocks +clinic-b [+-]\d+\.\d s", shown) and "reason" not in shown
    run = grassvine("runs", "show", "a", "--json").object
    assert (run["state"], run["member"]) == ("finished", "clinic-a")
    assert (run["slot"], run["n_slots"]) == (status["slot"], status["n_slots"])
    assert run["bytes"] == status["bytes_sent"] + status["bytes_received"]
    assert run["held_out_rmse"] == run["report"]["held_out_error"] == status["held_out_error"]
    assert run["incidents"] == [] and run["waiting_for"] == []
