import random
import sys
from pathlib import Path

import pytest
from tests.cli.commands import Command, rating_lines, write_ratings

from grassvine.foundations.errors import MissingExtra
from grassvine.jobs.completion import CompletionJob

PROMISED = {
    "n_users", "n_items", "n_ratings", "n_agents", "rank", "method", "train_rmse", "test_rmse",
    "test_mae", "agreement_degrees", "messages", "bytes", "seconds", "cpu_seconds",
    "stop_reason",
}  # fmt: skip
TIMES = ("seconds", "cpu_seconds")


def without_times(report: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in report.items() if name not in TIMES}


def test_it_prints_one_object_with_all_that_was_promised(grassvine: Command, ratings: Path) -> None:
    before = ratings.read_bytes()
    done = grassvine("complete", ratings, "--rank", 2, "--agents", 4, "--holdout", 0.2, "--json")
    report = done.object
    assert set(report) >= PROMISED
    assert (report["n_users"], report["n_items"], report["n_ratings"]) == (40, 15, 320)
    assert report["n_agents"] == 4 and report["rank"] == 2 and report["n_held_out"] == 64
    assert report["train_rmse"] < report["test_rmse"] < 2.0
    assert report["messages"] > 0 and report["bytes"] > 0
    for sentence in ("is separated by commas", "has a header", "'user' holds the users"):
        assert sentence in done.err
    assert ratings.read_bytes() == before


def test_the_order_of_rows_changes_no_bit(grassvine: Command, ratings: Path) -> None:
    shuffled = rating_lines()
    random.Random("order").shuffle(shuffled)
    other = write_ratings(ratings.with_name("shuffled.csv"), shuffled)
    options = ("--rank", 2, "--holdout", 0.2, "--seed", 3, "--json")
    one, two = (grassvine("complete", path, *options).object for path in (ratings, other))
    assert without_times(one) == without_times(two)


def test_without_hold_out_there_is_no_test_error(grassvine: Command, ratings: Path) -> None:
    report = grassvine("complete", ratings, "--rank", 2, "--json").object
    assert report["test_rmse"] is None and report["test_mae"] is None
    assert report["n_held_out"] == 0
    shown = grassvine("complete", ratings, "--rank", 2)
    assert "train rmse" in shown.out and "test rmse" not in shown.out


def test_a_column_may_name_the_owners(grassvine: Command, ratings: Path) -> None:
    report = grassvine("complete", ratings, "--rank", 2, "--agents", "owner", "--json").object
    assert report["n_agents"] == 2


def test_options_come_from_a_file_and_the_command_line_goes_first(
    grassvine: Command, ratings: Path, tmp_path: Path
) -> None:
    config = tmp_path / "options.toml"
    config.write_text('rank = 3\nagents = "owner"\nholdout = 0.25\njson = true\n')
    report = grassvine("complete", ratings, "--config", config, "--rank", 2).object
    assert (report["rank"], report["n_agents"], report["n_held_out"]) == (2, 2, 80)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rnak = 3", "unknown option 'rnak'; did you mean 'rank'?"),
        ('holdout = "much"', "holdout is 'much'"),
        ("rank = [1, 2]", "rank is [1, 2]; use text or a number."),
        ("json = 1", "json is 1; use true or false."),
        ("rank = ", "is not a valid TOML file"),
    ],
)
def test_a_wrong_file_of_options_is_named(
    grassvine: Command, ratings: Path, tmp_path: Path, text: str, message: str
) -> None:
    config = tmp_path / "options.toml"
    config.write_text(text)
    done = grassvine("complete", ratings, "--config", config)
    assert (done.code, done.out) == (3, "")
    assert message in done.err and "options.toml" in done.err


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--rank", "-1"], 3, "rank is -1, but the table has 15 items"),
        (["--rank", "many"], 3, "rank is 'many'; use an integer or auto."),
        (["--regularization", "much"], 3, "regularization is 'much'; use a number or auto."),
        (["--method", "baies"], 3, "unknown method 'baies'; did you mean 'bayes'?"),
        (["--regularization", "2"], 3, "use --regularization auto, or --method map."),
        (["--network", "rng"], 3, "unknown network 'rng'; did you mean 'ring'?"),
        (["--engine", "thread"], 3, "unknown engine 'thread'; did you mean 'threads'?"),
        (["--agents", "owners"], 3, "did you mean 'owner'?"),
        (["--agents", "41"], 3, "there are 40 users and each agent needs one"),
        (["--holdout", "1"], 3, "--holdout is 1; choose a finite number of at least 0 and below 1"),
        (
            ["--holdout", "0.001"],
            3,
            "--holdout 0.001 holds out none of 320 ratings; choose a larger fraction, or 0",
        ),
        (["--user", "uesr"], 3, "there is no column 'uesr' for the users"),
        (["--duplicates", "first"], 3, "--duplicates is 'first'"),
        (["--seed", "-1"], 3, "seed is -1; choose a number of at least 0."),
        (["--holdout", "x"], 2, "Invalid value for '--holdout'"),
        (["--rnak", "3"], 2, "No such option: --rnak"),
        (["-o", "/dev/null/model"], 7, "cannot be written"),
        (["--run", "/dev/null/run"], 7, "cannot be written"),
    ],
)
def test_a_wrong_option_is_a_sentence_with_its_code(
    grassvine: Command, ratings: Path, options: list[str], code: int, message: str
) -> None:
    there = sorted(ratings.parent.iterdir())
    done = grassvine("complete", ratings, "--json", *options)
    assert done.code == code
    assert message in " ".join(done.err.replace("│", " ").split())
    assert done.out == "" and "Traceback" not in done.err
    assert sorted(ratings.parent.iterdir()) == there


def test_without_ray_its_engine_gives_the_command_that_installs_it(
    grassvine: Command, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = grassvine("complete", ratings, "--json", "--engine", "ray")
    assert done.code == 2 and done.out == ""
    assert done.err.endswith(f"grassvine: {MissingExtra('the Ray engine', 'ray')}\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("user,item,rating\n", "no row"),
        ("", "is empty"),
        (
            "user,item,rating\n1,1,5\n1,1,4\n2,1,3\n",
            "repeats a user and an item: user 1 and item 1",
        ),
        ("user,item,rating\n1,1,5\n1,2,NA\n", "1 of 2 ratings are missing, NaN or infinite"),
        ("user,item,rating\n1,1,★★\n1,2,★\n", "★★"),
        ("a,b\n1,1\n1,2\n", "choose the columns with --user, --item, --rating."),
    ],
)
def test_a_wrong_table_is_a_sentence(
    grassvine: Command, tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    done = grassvine("complete", path, "-o", tmp_path / "model", "--run", tmp_path / "run")
    assert (done.code, done.out) == (3, "")
    assert message in done.err
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_place_that_is_taken_is_refused_before_the_work(
    grassvine: Command, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ratings.with_name("model")
    assert grassvine("complete", ratings, "--rank", 2, "-o", model).code == 0
    before = {file.name: file.read_bytes() for file in model.iterdir()}
    with monkeypatch.context() as patched:
        patched.setattr(CompletionJob, "read", lambda self: pytest.fail("it began the work"))
        done = grassvine("complete", ratings, "-o", model)
    assert done.code == 7 and "already exists" in done.err
    assert {file.name: file.read_bytes() for file in model.iterdir()} == before
    done = grassvine("complete", ratings, "--rank", 3, "-o", model, "--overwrite")
    assert done.code == 0 and f"model: {model}" in done.err


def test_it_reports_what_the_saved_model_has_not_seen(grassvine: Command, ratings: Path) -> None:
    model = ratings.with_name("model")
    done = grassvine("complete", ratings, "--rank", 2, "--holdout", 0.2, "-o", model, "--json")
    assert "(fitted without the held-out data; use --holdout 0 to fit all data)" in done.err
    told = grassvine("inspect", model, "--json").object
    assert told["card"]["metrics"]["test_rmse"] == done.object["test_rmse"]
    assert told["sizes"]["ratings"] == 256
    assert str(ratings.parent) not in str(told)


def test_an_interrupted_command_ends_with_its_code_and_leaves_nothing(
    grassvine: Command, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(CompletionJob, "learn", interrupted)
    done = grassvine("complete", ratings, "-o", ratings.with_name("model"))
    assert done.code == 130 and done.out == ""
    assert list(ratings.parent.iterdir()) == [ratings]


def test_who_interrupts_a_run_that_is_kept_hears_how_to_go_on(
    grassvine: Command, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(CompletionJob, "learn", interrupted)
    kept = ratings.with_name("kept")
    done = grassvine("complete", ratings, "--engine", "ray", "--checkpoints", kept)
    assert done.code == 130
    assert f"stopped; use --resume to continue from the checkpoints in {kept}" in done.err
    assert "--resume" not in grassvine("complete", ratings).err
