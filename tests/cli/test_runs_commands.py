import json
from pathlib import Path

import pytest
from tests.cli.commands import Command, rating_lines, write_ratings, write_samples

import grassvine as gv


@pytest.fixture
def run(grassvine: Command, ratings: Path) -> Path:
    folder = ratings.with_name("run")
    done = grassvine("complete", ratings, "--rank", 2, "--agents", 3, "--run", folder)
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


def test_a_folder_tells_all_that_is_needed(run: Path) -> None:
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


def test_another_result_is_said_and_has_a_code(grassvine: Command, run: Path) -> None:
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
        ({"format": "another"}, "is not in the format 'grassvine run 1'"),
        ({"command": "dance"}, "was modified"),
        ({"options": {"rnak": 1}}, "unknown option 'rnak'; did you mean 'rank'?"),
        ({"hashes": {}}, "was modified"),
    ],
)
def test_an_altered_run_is_refused(
    grassvine: Command, run: Path, change: dict[str, object], message: str
) -> None:
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | change))
    done = grassvine("rerun", run)
    assert (done.code, done.out) == (3, "") and message in done.err


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
    assert set(pictures) == {"cost", "agreement", "network", "angles"}
    for path in pictures.values():
        assert Path(path).read_bytes().startswith(b"\x89PNG")


def test_plots_are_replaced_only_if_told_so(
    grassvine: Command, ratings: Path, tmp_path: Path
) -> None:
    run, out = tmp_path / "run", tmp_path / "pictures"
    fit = ("complete", ratings, "--rank", 1, "--regularization", 1, "--run", run)
    assert grassvine(*fit).code == 0
    out.mkdir()
    (out / "network.png").write_text("mine")
    refused = grassvine("plot", run, "-o", out)
    assert refused.code == 7
    assert "network.png already exists; choose another path, or use --overwrite." in refused.err
    assert [path.read_text() for path in out.iterdir()] == ["mine"]
    assert grassvine("plot", run, "-o", out, "--overwrite").code == 0
    assert (out / "network.png").read_bytes().startswith(b"\x89PNG")
