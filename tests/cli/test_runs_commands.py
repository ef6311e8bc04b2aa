import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save, save_file
from tests.cli.commands import Command, rating_lines, write_ratings, write_samples

import grassvine as gv


@pytest.fixture
def run(grassvine: Command, ratings: Path) -> Path:
    folder = ratings.with_name("run")
    options = ("--rank", 2, "--method", "map", "--agents", 3, "--run", folder)
    done = grassvine("complete", ratings, *options)
    assert done.code == 0 and f"run: {folder}" in done.err
    return folder


def test_a_run_is_repeated_to_the_last_bit(grassvine: Command, run: Path) -> None:
    done = grassvine("rerun", run, "--json")
    assert done.object["same"] is True
    assert "the result is bit-identical to the saved run" in done.err


def test_a_run_of_tasks_and_one_of_components_are_repeated(
    grassvine: Command, tmp_path: Path
) -> None:
    samples = write_samples(tmp_path / "samples.csv")
    tasks = ("--target", "y", "--task", "school", "--rank", 1)
    assert grassvine("multitask", samples, *tasks, "--run", tmp_path / "one").code == 0
    assert grassvine("pca", samples, "--agents", 2, "--run", tmp_path / "two").code == 0
    for name in ("one", "two"):
        assert grassvine("rerun", tmp_path / name, "--json").object["same"] is True


def test_a_folder_reports_all_that_is_needed(run: Path) -> None:
    record = json.loads((run / "run.json").read_text())
    assert record["options"]["seed"] == 0 and record["options"]["rank"] == 2
    plan = gv.Plan.from_toml((run / "plan.toml").read_text())
    assert plan.network == gv.networks.ring(3) and plan.rank == 2
    assert set(record["hashes"]) == {"data", "result"} and "numpy" in record["versions"]


def test_other_data_are_refused_and_moved_ones_are_not(
    grassvine: Command, run: Path, ratings: Path
) -> None:
    moved = ratings.rename(ratings.with_name("moved.csv"))
    done = grassvine("rerun", run)
    assert done.code == 3 and "does not exist" in done.err
    assert grassvine("rerun", run, "--data", moved, "--json").object["same"] is True
    other = write_ratings(ratings.with_name("other.csv"), rating_lines(seed=1))
    done = grassvine("rerun", run, "--data", other)
    assert (done.code, done.out) == (3, "")
    assert "differs from the data of the run: its hash is" in done.err


def test_another_result_is_reported_and_has_a_code(grassvine: Command, run: Path) -> None:
    record = json.loads((run / "run.json").read_text())
    record["hashes"]["result"] = "0" * 64
    record["versions"]["numpy"] = "1.0"
    (run / "run.json").write_text(json.dumps(record))
    done = grassvine("rerun", run, "--json")
    assert done.code == 4 and json.loads(done.out)["same"] is False
    assert "the result differs from the saved run" in done.err
    assert "numpy was 1.0 in the saved run and is now" in done.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "another"}, "is not in the format 'grassvine run 2'"),
        (
            {"format": "grassvine run 1"},
            "is in the format 'grassvine run 1' and this version reads 'grassvine run 2'; repeat",
        ),
        ({"command": "dance"}, "was modified"),
        ({"options": {"rnak": 1}}, "unknown option 'rnak'; did you mean 'rank'?"),
        ({"hashes": {}}, "was modified"),
        ({"hashes": {"data": 1, "result": 2}}, "was modified: hashes"),
        ({"command": ["complete"]}, "was modified: command"),
        ({"report": []}, "was modified: report"),
        ({"versions": {"numpy": "\x1b[2J"}}, "was modified: versions"),
    ],
)
def test_an_altered_run_is_refused(
    grassvine: Command, run: Path, change: dict[str, object], message: str
) -> None:
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | change))
    done = grassvine("rerun", run)
    assert (done.code, done.out) == (3, "") and message in done.err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rank", "ten"),
        ("rank", True),
        ("seed", 2**63),
        ("seed", 1.5),
        ("rho", float("inf")),
        ("agents", [2]),
        ("data", None),
        ("data", "\x1b[2J"),
        ("duplicates", "first"),
        ("stored", 1),
    ],
)
def test_an_option_of_another_type_is_refused(
    grassvine: Command, run: Path, name: str, value: object
) -> None:
    record = json.loads((run / "run.json").read_text())
    record["options"][name] = value
    (run / "run.json").write_text(json.dumps(record))
    done = grassvine("rerun", run)
    assert (done.code, done.out) == (3, "") and "\x1b" not in done.err
    assert f"run.json was modified: {name} is {value!r}; use a folder written by --run" in done.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "it is nested too deeply"),
        ('{"format": "\\ud800"}', "contains half a surrogate pair"),
        ('{"format": 1e999}', "1e999 is too large for a float"),
        ("9" * 5000, "run.json cannot be read"),
        ("\x00", "run.json cannot be read"),
    ],
)
def test_a_record_that_is_no_plain_json_is_refused(
    grassvine: Command, run: Path, text: str, message: str
) -> None:
    (run / "run.json").write_text(text)
    done = grassvine("rerun", run)
    assert (done.code, done.out) == (3, "") and message in done.err


def test_bases_that_are_not_orthonormal_are_refused(grassvine: Command, run: Path) -> None:
    path = run / "bases.safetensors"
    bases = load_file(path)
    for change, message in (
        (bases | {"agent 1": 2.0 * bases["agent 1"]}, "of that of agent 1 are not orthonormal"),
        (bases | {"agent 1": np.full_like(bases["agent 1"], np.nan)}, "agent 1 contains nan"),
        ({"agent 0": bases["agent 0"]}, "there is not one for each of 3 agents"),
        ({name: basis[:-1].copy() for name, basis in bases.items()}, "not all of shape 15×2"),
        ({name: basis.astype(np.float32) for name, basis in bases.items()}, "of type float64"),
    ):
        save_file(change, path)
        done = grassvine("plot", run, "-o", run.with_name("pictures"))
        assert (done.code, done.out) == (3, "") and message in done.err


def test_the_history_of_other_agents_is_refused(grassvine: Command, run: Path) -> None:
    path = run / "history.safetensors"
    columns = dict(gv.History.load(path).columns)
    columns["agent"] = columns["agent"] + 1
    gv.History(columns).save(path)
    done = grassvine("plot", run, "-o", run.with_name("pictures"))
    assert done.code == 3 and "does not contain the history of 3 agents" in done.err


def test_a_run_folder_cannot_choose_the_engine(
    grassvine: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Ray driver unpickles what a cluster returns, so an address in a foreign folder is code."""
    record = json.loads((run / "run.json").read_text())
    record["options"] |= {"engine": "ray", "address": "198.51.100.7:6379"}
    (run / "run.json").write_text(json.dumps(record))
    joined: list[object] = []

    def ray_engine(address: object, **_: object) -> gv.LocalEngine:
        joined.append(address)
        return gv.LocalEngine()

    monkeypatch.setattr("grassvine.jobs.base.RayEngine", ray_engine)
    done = grassvine("rerun", run, "--json")
    assert done.object["same"] is True and joined == []
    assert "the saved run used the engine ray and is repeated on local" in done.err
    own = ("--engine", "ray", "--address", "127.0.0.1:6379")
    assert grassvine("rerun", run, *own, "--json").object["same"] is True
    assert joined == ["127.0.0.1:6379"]


def test_an_altered_plan_is_refused(grassvine: Command, run: Path) -> None:
    (run / "plan.toml").write_text("rank = 2")
    done = grassvine("rerun", run)
    assert (done.code, done.out) == (3, "") and "plan.toml is not a valid plan" in done.err


def test_what_is_no_run_is_neither_read_nor_replaced(
    grassvine: Command, ratings: Path, tmp_path: Path
) -> None:
    done = grassvine("rerun", tmp_path)
    assert done.code == 3 and "contains no run.json" in done.err
    done = grassvine("complete", ratings, "--run", tmp_path, "--overwrite")
    assert done.code == 7 and "contains ratings.csv, which is not part of a run" in done.err


def test_pictures_are_drawn(grassvine: Command, run: Path, tmp_path: Path) -> None:
    pictures = grassvine("plot", run, "-o", tmp_path / "pictures", "--json").object
    assert set(pictures) == {"cost", "error", "network", "validation", "predictions"}
    for path in pictures.values():
        assert Path(path).read_bytes().startswith(b"\x89PNG")


def test_the_share_of_pictures_drawn_is_shown_on_a_terminal(
    grassvine: Command, run: Path, tmp_path: Path, screen: io.StringIO
) -> None:
    assert grassvine("plot", run, "-o", tmp_path / "plots").code == 0
    assert "drawing" in screen.getvalue() and "100%" in screen.getvalue()


def test_plots_are_replaced_only_on_request(
    grassvine: Command, ratings: Path, tmp_path: Path
) -> None:
    run, out = tmp_path / "run", tmp_path / "pictures"
    fit = ("complete", ratings, "--rank", 1, "--run", run)
    assert grassvine(*fit).code == 0
    out.mkdir()
    (out / "network.png").write_text("mine")
    refused = grassvine("plot", run, "-o", out)
    assert refused.code == 7
    assert "network.png already exists; choose another path, or use --overwrite." in refused.err
    assert [path.read_text() for path in out.iterdir()] == ["mine"]
    assert grassvine("plot", run, "-o", out, "--overwrite").code == 0
    assert (out / "network.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([np.nan]), "'validation/rank' in"),
        (np.zeros((2, 2)), "is not a vector of finite numbers"),
    ],
)
def test_altered_tables_are_refused(
    grassvine: Command, run: Path, array: Any, message: str
) -> None:
    (run / "tables.safetensors").write_bytes(save({"validation/rank": array}))
    done = grassvine("plot", run)
    assert (done.code, done.out) == (3, "") and message in done.err


def test_tables_that_cannot_be_read_are_refused(grassvine: Command, run: Path) -> None:
    (run / "tables.safetensors").write_bytes(b"no tables")
    done = grassvine("plot", run)
    assert done.code == 3 and "contains no valid tables" in done.err
