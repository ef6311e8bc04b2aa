from pathlib import Path

import polars as pl
import pytest
from tests.cli.commands import Command

ASKED = ("--rank", 2, "--agents", "owner", "--json")


@pytest.fixture
def parquet(ratings: Path) -> Path:
    path = ratings.with_suffix(".parquet")
    pl.read_csv(ratings, schema_overrides={"item": pl.String}).write_parquet(path)
    return path


@pytest.mark.parametrize("engine", ["local", "threads"])
def test_stored_data_give_the_same_result_as_data_in_memory(
    grassvine: Command, parquet: Path, engine: str
) -> None:
    here = grassvine("complete", parquet, *ASKED).object
    done = grassvine("complete", parquet, *ASKED, "--stored", "--engine", engine)
    unknown = {name for name, value in done.object.items() if value is None}
    assert unknown == {
        "train_rmse",
        "train_mae",
        "test_rmse",
        "test_mae",
        "test_known",
        "test_coverage",
    }
    assert set(done.object) == set(here)
    for name in ("n_users", "n_items", "n_ratings", "n_agents", "bytes", "stop_reason"):
        assert done.object[name] == here[name]
    assert "By name, 'user' holds the users" in done.err


def test_the_model_knows_no_users_and_takes_them_in(grassvine: Command, parquet: Path) -> None:
    model, larger = parquet.with_name("model"), parquet.with_name("larger")
    assert grassvine("complete", parquet, *ASKED, "--stored", "-o", model).code == 0
    assert grassvine("inspect", model, "--json").object["private"] == {}
    done = grassvine("recommend", model)
    assert (
        done.code == 3
        and "this model was fitted or loaded without them" in done.err
        and "fold" in done.err
    )
    done = grassvine("recommend", model, "--user", 107)
    assert done.code == 3 and "fitted or loaded without users" in done.err
    assert grassvine("fold-in", model, parquet, "-k", 2, "-o", larger).code == 0
    whole = parquet.with_name("whole")
    assert grassvine("complete", parquet, *ASKED, "-o", whole).code == 0
    answers = [grassvine("recommend", one, "--user", 107).out for one in (larger, whole)]
    assert answers[0] == answers[1] != ""


def test_a_run_on_stored_data_is_repeated_to_the_last_bit(
    grassvine: Command, parquet: Path
) -> None:
    run = parquet.with_name("run")
    assert grassvine("complete", parquet, *ASKED, "--stored", "--run", run).code == 0
    assert grassvine("rerun", run, "--json").object["same"] is True
    pl.read_parquet(parquet)[:-1].write_parquet(parquet)
    done = grassvine("rerun", run)
    assert done.code == 3 and "differs from the data of the run" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--agents", "owner", "--holdout", 0.2),
            "ratings that the agents read themselves cannot be held out",
        ),
        (
            ("--agents", 2),
            "--agents 2 does not define which part each agent reads; use --agents with",
        ),
        (("--agents", "ownr"), "no column 'ownr' for the agents; did you mean 'owner'?"),
    ],
)
def test_what_stored_data_do_not_support_is_reported(
    grassvine: Command, parquet: Path, options: tuple[object, ...], message: str
) -> None:
    done = grassvine("complete", parquet, "--rank", 2, "--stored", *options)
    assert done.code == 3 and message in done.err


def test_text_cannot_be_read_apart(grassvine: Command, ratings: Path) -> None:
    done = grassvine("complete", ratings, *ASKED, "--stored")
    assert done.code == 3 and "ratings.csv is not a Parquet file; use a Parquet file" in done.err
