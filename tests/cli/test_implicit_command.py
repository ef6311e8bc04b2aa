"""``grassvine implicit`` and the commands that use its models."""

import json
from pathlib import Path

import polars as pl
import pytest
from tests.cli.commands import Command
from tests.sums.implicit.choices import events


@pytest.fixture
def clicks(tmp_path: Path) -> Path:
    table = events(n_users=400, per_user=14.0, counted=True)
    user = table.users_of_values()
    frame = pl.DataFrame(
        {
            "user": user + 100,
            "item": [f"{item:03d}" for item in table.items],
            "clicks": table.values.astype(int),
            "time": 1_700_000_000 + pl.int_range(len(user), eager=True) * 60,
            "shop": [f"shop {number % 2}" for number in user],
        }
    )
    path = tmp_path / "clicks.csv"
    frame.write_csv(path)
    return path


@pytest.fixture
def model(grassvine: Command, clicks: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    done = grassvine("implicit", clicks, "--agents", "shop", "-o", folder)
    assert done.code == 0, done.err
    return folder


def test_it_reports_the_fit_and_its_measures(grassvine: Command, clicks: Path) -> None:
    before = clicks.read_bytes()
    report = grassvine("implicit", clicks, "--agents", "shop", "--holdout", 0.2, "--json").object
    assert report["n_agents"] == 2 and report["n_users"] == 400 and report["n_items"] == 40
    assert report["test_ndcg_10"] > report["popularity_ndcg_10"] > 0.1
    assert 0 < report["test_coverage_10"] <= 1 and report["test_users"] > 300
    assert clicks.read_bytes() == before


@pytest.mark.parametrize("split", ["users", "last", "time"])
def test_other_splits(grassvine: Command, clicks: Path, split: str) -> None:
    report = grassvine("implicit", clicks, "--holdout", 0.1, "--split", split, "--json").object
    assert report["n_held_out"] > 0 and report["test_ndcg_100"] is not None


def test_a_run_is_repeated_to_the_bit(grassvine: Command, clicks: Path, tmp_path: Path) -> None:
    for method in ("factors", "ease"):
        folder = tmp_path / method
        assert grassvine("implicit", clicks, "--method", method, "--run", folder).code == 0
        done = grassvine("rerun", folder)
        assert done.code == 0 and "bit-identical" in done.err


def test_the_model_recommends_with_titles_and_filters(
    grassvine: Command, model: Path, tmp_path: Path
) -> None:
    titles = tmp_path / "titles.csv"
    pl.DataFrame(
        {"item": [f"{n:03d}" for n in range(40)], "title": [f"Title {n}" for n in range(40)]}
    ).write_csv(titles)
    some = tmp_path / "some.csv"
    pl.DataFrame({"item": ["001", "002", "021", "022"]}).write_csv(some)
    found = grassvine("recommend", model, "--user", 101, "-k", 3, "--titles", titles, "--json")
    rows = found.object["recommendations"]
    assert len(rows) == 3 and all(row["title"] == f"Title {int(row['item'])}" for row in rows)
    chosen = grassvine("recommend", model, "--candidates", some, "--seen", "-k", 9, "--json")
    assert {row["item"] for row in chosen.object["recommendations"]} <= {"001", "002", "021", "022"}
    left = grassvine("recommend", model, "--exclude", some, "--user", 101, "-k", 40, "--json")
    assert not {row["item"] for row in left.object["recommendations"]} & {"001", "002"}
    few = grassvine("recommend", model, "--min-users", 100000)
    assert few.code == 3 and "lower min_users" in few.err.replace("--min-users", "min_users")


def test_reasons_add_up(grassvine: Command, model: Path) -> None:
    why = grassvine("explain", model, "--user", 101, "--item", "021", "-k", 3, "--json").object
    shares = sum(row["share"] for row in why["items"])
    total = why["popularity"] + shares + why["other_items"]
    assert total == pytest.approx(why["score"], abs=1e-10)
    shown = grassvine("explain", model, "--user", 101, "--item", "021", "-k", 2)
    assert "what is popular" in shown.out and "all other items" in shown.out


def test_new_users_are_folded_in(grassvine: Command, model: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("user,item,clicks,shop\n9,001,2,shop 0\n9,003,1,shop 0\n")
    larger = tmp_path / "larger"
    done = grassvine("fold-in", model, new, "-k", 2, "-o", larger)
    assert done.code == 0 and done.out.count("\n") == 3
    assert grassvine("recommend", larger, "--user", 9, "-k", 1).code == 0
    shown = grassvine("inspect", larger)
    assert "ranking" in shown.out and "401" in shown.out


def test_events_may_stay_in_files(grassvine: Command, clicks: Path, tmp_path: Path) -> None:
    path = tmp_path / "clicks.parquet"
    pl.read_csv(clicks, schema_overrides={"item": pl.String}).write_parquet(path)
    report = grassvine("implicit", path, "--agents", "shop", "--stored", "--json").object
    assert report["n_agents"] == 2 and report["test_ndcg_10"] is None
    done = grassvine("implicit", path, "--agents", 2, "--stored")
    assert done.code == 3 and "--agents with the column" in done.err


def test_mistakes_are_told_in_the_words_of_the_command(
    grassvine: Command, clicks: Path, model: Path, tmp_path: Path
) -> None:
    done = grassvine("complete", clicks, "--agents", "shop")
    assert done.code == 3 and "'grassvine implicit'" in done.err and "--rating" in done.err
    done = grassvine("predict", model, clicks)
    assert done.code == 3 and "'grassvine recommend'" in done.err
    done = grassvine("implicit", clicks, "--split", "last", "--time", "clock", "--holdout", 0.1)
    assert done.code == 3 and "there is no column 'clock'" in done.err
    pl.read_csv(clicks).drop("time").write_csv(tmp_path / "timeless.csv")
    done = grassvine("implicit", tmp_path / "timeless.csv", "--split", "last", "--holdout", 0.1)
    assert done.code == 3 and "--split last needs times" in done.err
    bad = tmp_path / "bad.csv"
    bad.write_text("user,item,count\n1,2,3\n2,3,-1\n")
    done = grassvine("implicit", bad)
    assert done.code == 3 and "1 of 2 counts is negative (line 3)" in done.err
    assert json.loads(grassvine("inspect", model, "--json").out)["kind"] == "ranking"


def test_a_model_of_ratings_recommends_what_is_chosen(
    grassvine: Command, clicks: Path, tmp_path: Path
) -> None:
    ratings = tmp_path / "stars.csv"
    rated = pl.read_csv(clicks, schema_overrides={"item": pl.String}).with_columns(
        stars=1.0 + pl.col("clicks") % 5
    )
    rated.select("user", "item", "stars").write_csv(ratings)
    model, plain = tmp_path / "rated", tmp_path / "plain"
    assert grassvine("complete", ratings, "--rank", 2, "-o", model).code == 0
    chosen = grassvine("recommend", model, "--user", 101, "-k", 3, "--json")
    rows = chosen.object["recommendations"]
    assert len(rows) == 3 and all(row["lower"] <= row["rating"] <= row["upper"] for row in rows)
    by_rating = grassvine("recommend", model, "--user", 101, "--score", "rating", "-k", 3, "--json")
    scores = [row["score"] for row in by_rating.object["recommendations"]]
    assert scores == sorted(scores, reverse=True)
    assert grassvine("recommend", model, "--user", 101, "--score", "cautious").code == 0
    why = grassvine("explain", model, "--user", 101, "--item", rows[0]["item"], "--json").object
    assert why["score"] == pytest.approx(rows[0]["score"], abs=1e-10)
    done = grassvine("complete", ratings, "--rank", 2, "--no-learn-choices", "-o", plain)
    assert done.code == 0
    assert "rating" not in grassvine("recommend", plain, "--user", 101).out.splitlines()[0]
    done = grassvine("recommend", plain, "--user", 101, "--score", "chosen")
    assert done.code == 3 and "has not learned what users choose" in done.err
    done = grassvine("recommend", model, "--user", 101, "--score", "ratings")
    assert done.code == 3 and "--score is 'ratings'; did you mean 'rating'" in done.err
