import io
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.cli.commands import Command, write_samples
from tests.models.model_samples import ratings_model
from tests.models.persistence.forging import PRIVATE, SHARED

from grassvine.cli.output import write_table
from grassvine.models import Card, save


@pytest.fixture
def model(grassvine: Command, ratings: Path) -> Path:
    path = ratings.with_name("model")
    assert grassvine("complete", ratings, "--rank", 2, "-o", path).code == 0
    return path


def give(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_pairs_are_predicted_with_ids_as_the_model_has_them(
    grassvine: Command, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, "user,item\n100,003\n101,012\n")
    done = grassvine("predict", model, "-", "--json")
    rows = done.object["predictions"]
    assert [(row["user"], row["item"], row["known"]) for row in rows] == [
        (100, "003", True),
        (101, "012", True),
    ]
    assert all(1.0 <= row["rating"] <= 5.0 for row in rows)


def test_predicted_ratings_have_intervals(grassvine: Command, model: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("user,item\n100,003\n101,012\n")
    narrow, wide = (
        grassvine("predict", model, pairs, "--interval", level, "--json").object["predictions"]
        for level in (0.5, 0.9)
    )
    for one, other in zip(narrow, wide, strict=True):
        ends = [other["lower"], one["lower"], one["rating"], one["upper"], other["upper"]]
        assert ends == sorted(ends) and one["std"] == other["std"] > 0.0
    refused = grassvine("predict", model, pairs, "--interval", 1.5)
    assert refused.code == 3 and "--interval is 1.5" in refused.err


def test_the_share_that_is_done_is_shown_on_a_terminal(
    grassvine: Command, model: Path, tmp_path: Path, screen: io.StringIO
) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("user,item\n100,003\n")
    for command, title in (
        (("predict", model, pairs), "predicting"),
        (("recommend", model), "recommending"),
    ):
        screen.truncate(0)
        assert grassvine(*command, "-o", tmp_path / f"{title}.csv").code == 0
        shown = screen.getvalue()
        assert all(word in shown for word in ("reading", title, "100%", "writing"))


@pytest.mark.parametrize("command", ["complete", "compare", "fold-in"])
def test_the_share_of_reading_and_solving_is_shown_on_a_terminal(
    grassvine: Command, model: Path, ratings: Path, screen: io.StringIO, command: str
) -> None:
    options = {
        "complete": (ratings, "--rank", 1),
        "compare": (ratings, "--methods", "item-means", "--splits", 1),
        "fold-in": (model, ratings, "--duplicates", "mean"),
    }
    assert grassvine(command, *options[command]).code == 0
    for title in {"fold-in": ("reading", "solving")}.get(command, ("reading",)):
        lines = [line for line in screen.getvalue().splitlines() if title in line]
        assert lines and any("100%" in line for line in lines)


def test_whole_numbers_become_text_where_the_model_has_text(
    grassvine: Command, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, "user,item\n100,3\n")  # 3 is a number here, and as text it is not 003
    done = grassvine("predict", model, "-")
    assert (done.code, done.out) == (3, "")
    assert "the model does not know 1 of the items ('3')" in done.err
    give(monkeypatch, "user,item\nanna,003\n")  # text where the model has numbers
    done = grassvine("predict", model, "-")
    assert done.code == 3
    assert "user ids are text (such as 'anna'), but the known ones are whole numbers" in done.err


def test_what_is_not_known_is_reported(
    grassvine: Command, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = "user,item\n100,003\n7,003\n"
    give(monkeypatch, pairs)
    rows = grassvine("predict", model, "-", "--on-unknown", "nan", "--json").object["predictions"]
    assert [row["known"] for row in rows] == [True, False]
    assert rows[1]["rating"] is None
    give(monkeypatch, pairs)
    done = grassvine("predict", model, "-", "--on-unknown", "guess")
    assert done.code == 3 and "--on-unknown is 'guess'" in done.err


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather", ".jsonl"])
def test_tables_are_written_in_the_form_of_their_suffix(
    grassvine: Command, model: Path, suffix: str
) -> None:
    out = model.with_name(f"best{suffix}")
    done = grassvine("recommend", model, "--user", 100, "--user", 103, "-k", 2, "-o", out)
    assert (done.code, done.out) == (0, "") and "4 rows" in done.err
    from grassvine.data.tables import read_table

    frame = read_table(out).frame
    assert frame["user"].to_list() == [100, 100, 103, 103]
    assert frame["rank"].to_list() == [1, 2, 1, 2]
    again = grassvine("recommend", model, "-o", out)
    assert again.code == 7 and "already exists; choose another path" in again.err
    wrong = grassvine("recommend", model, "-o", model.with_name("best.xls"))
    assert wrong.code == 3 and "unknown table suffix '.xls'" in wrong.err


def test_everybody_is_recommended_what_they_have_not_rated(
    grassvine: Command, model: Path, ratings: Path
) -> None:
    done = grassvine("recommend", model, "-k", 3)
    frame = pl.read_csv(io.StringIO(done.out), schema_overrides={"item": pl.String})
    assert frame["user"].n_unique() == 40 and len(frame) == 120
    seen = {tuple(line.split(",")[:2]) for line in ratings.read_text().splitlines()}
    assert not {(str(user), item) for user, item in frame.select("user", "item").rows()} & seen


def test_users_come_from_a_file_or_from_options_not_both(
    grassvine: Command, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, "user\n105\n104\n105\n")
    rows = grassvine("recommend", model, "--users", "-", "-k", 1, "--json").object
    assert [row["user"] for row in rows["recommendations"]] == [105, 104]
    done = grassvine("recommend", model, "--users", "-", "--user", 100)
    assert done.code == 2 and "not both" in done.err


def test_new_users_are_folded_in(
    grassvine: Command, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {file.name: file.read_bytes() for file in model.iterdir()}
    out = model.with_name("more")
    new = "user,item,rating\n900,003,5\n900,004,1\n900,077,3\n"
    give(monkeypatch, new)
    refused = grassvine("fold-in", model, "-", "-o", out)
    assert refused.code == 3 and not out.exists()
    assert "items that the model does not know (such as '077')" in refused.err
    give(monkeypatch, new)
    done = grassvine("fold-in", model, "-", "-k", 2, "-o", out, "--drop-unknown", "--json")
    rows = done.object["recommendations"]
    assert [(row["user"], row["rank"], row["known"]) for row in rows] == [
        (900, 1, True),
        (900, 2, True),
    ]
    assert not {row["item"] for row in rows} & {"003", "004", "077"}
    assert "Dropped 1 rating of items unknown to the model." in done.err
    assert grassvine("inspect", out, "--json").object["sizes"]["users"] == 41
    assert {file.name: file.read_bytes() for file in model.iterdir()} == before


def test_tasks_and_components_are_learned_and_asked(grassvine: Command, tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples.csv")
    options = ("--target", "y", "--task", "school", "--rank", 1, "--holdout", 0.25, "--json")
    report = grassvine("multitask", samples, *options, "-o", tmp_path / "tasks").object
    assert (report["n_tasks"], report["n_features"], report["n_held_out"]) == (12, 3, 24)
    assert report["test_r2"] > 0.9
    rows = grassvine("predict", tmp_path / "tasks", samples, "--json").object["predictions"]
    assert len(rows) == 96 and rows[0]["task"] == "s0" and rows[0]["known"]
    done = grassvine("pca", samples, "--agents", 3, "--json", "-o", tmp_path / "axes")
    assert "Columns without numbers were ignored: 'school'." in done.err
    assert done.object["explained_variance_ratio"][0] > 0.5
    told = grassvine("predict", tmp_path / "axes", samples)
    assert told.out.startswith("component0,component1\n")
    refused = grassvine("recommend", tmp_path / "axes")
    assert refused.code == 3 and "has no users or items" in refused.err


def test_predictions_of_tasks_have_intervals(grassvine: Command, tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples.csv")
    fit = ("multitask", samples, "--target", "y", "--task", "school", "--json")
    report = grassvine(*fit, "--holdout", 0.25, "-o", tmp_path / "tasks").object
    assert 0.6 <= report["test_coverage_90"] <= 1.0 and report["method"] == "bayes"
    asked = ("predict", tmp_path / "tasks", samples, "--json")
    rows = grassvine(*asked, "--interval", 0.5).object["predictions"]
    wider = grassvine(*asked, "--interval", 0.9).object["predictions"]
    for row, wide in zip(rows, wider, strict=True):
        assert wide["lower"] < row["lower"] < row["prediction"] < row["upper"] < wide["upper"]
    refused = grassvine(*asked, "--interval", 1.5)
    assert refused.code == 3 and "--interval is 1.5" in refused.err
    grassvine(*fit, "--method", "exact", "--rank", 1, "-o", tmp_path / "exact")
    refused = grassvine("predict", tmp_path / "exact", samples, "--interval", 0.9)
    assert refused.code == 3 and "fit one with method='bayes'" in refused.err
    grassvine("pca", samples, "-o", tmp_path / "axes")
    refused = grassvine("predict", tmp_path / "axes", samples, "--interval", 0.9)
    assert refused.code == 3 and "--interval is for models of ratings and tasks" in refused.err


def test_components_are_found_where_values_are_missing(grassvine: Command, tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples.csv")
    lines = samples.read_text().splitlines()
    fields = [line.split(",") for line in lines]
    for number in (3, 10, 17, 40):
        fields[number][1 + number % 3] = ""
    holed = tmp_path / "holed.csv"
    holed.write_text("\n".join(map(",".join, fields)) + "\n")
    done = grassvine("pca", holed, "--agents", 3, "--json", "-o", tmp_path / "axes")
    assert done.object["n_missing"] == 4 and "values are missing." in done.err
    told = grassvine("predict", tmp_path / "axes", holed)
    assert told.code == 0 and len(told.out.splitlines()) == len(lines)
    refused = grassvine("pca", holed, "--agents", 3, "--method", "gossip")
    assert refused.code == 3 and "missing, NaN or infinite in" in refused.err


def test_components_of_named_owners_explain_a_share(grassvine: Command, tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples.csv")
    report = grassvine("pca", samples, "--agents", "school", "--components", 0.9, "--json").object
    assert report["n_agents"] == 12
    ratios = report["explained_variance_ratio"]
    assert sum(ratios) > 0.9 >= sum(ratios[:-1]) and report["components"] == len(ratios)
    refused = grassvine("pca", samples, "--components", 1.5)
    assert (
        refused.code == 3 and "--components is '1.5'; use an integer, or a fraction" in refused.err
    )


def test_what_is_no_model_is_refused(grassvine: Command, tmp_path: Path) -> None:
    for command in (("inspect",), ("recommend",), ("predict",), ("fold-in",)):
        more = ["-"] if command[0] in ("predict", "fold-in") else []
        done = grassvine(*command, tmp_path / "nothing", *more)
        assert (done.code, done.out) == (3, "")
        assert "there is no folder" in done.err


def test_a_model_is_described_for_the_eye(grassvine: Command, model: Path) -> None:
    shown = grassvine("inspect", model).out
    for part in ("kind", "ratings", "private part", "users.arrow", "train_rmse", "written by"):
        assert part in shown
    assert ", interval_scale " in shown and "{" not in shown


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e[red]films\r"


def test_terminal_escapes_of_a_foreign_model_are_shown_not_obeyed(
    grassvine: Command, tmp_path: Path
) -> None:
    card = Card(parameters={HOSTILE: HOSTILE, "lines": "one\ntwo"}, metrics={HOSTILE + "2": 1.0})
    save(ratings_model(), tmp_path / "model", card)
    done = grassvine("inspect", tmp_path / "model")
    assert done.code == 0 and all(char.isprintable() or char == "\n" for char in done.out)
    assert "\\x1b[2J\\x9b31m\\u202e[red]films\\r" in done.out
    told = grassvine("inspect", tmp_path / "model", "--json")
    assert told.object["card"]["parameters"][HOSTILE] == HOSTILE
    assert told.out.rstrip("\n").isprintable()
    missing = grassvine("inspect", tmp_path / HOSTILE)
    assert missing.code == 3 and missing.err.rstrip("\n").isprintable()


def test_a_foreign_model_cannot_say_that_it_has_no_private_part(
    grassvine: Command, tmp_path: Path
) -> None:
    card = Card(parameters={"private part": "not included", "kind": "harmless"})
    save(ratings_model(), tmp_path / "model", card)
    shown = grassvine("inspect", tmp_path / "model").out
    assert "users.arrow: ids of users" in shown
    assert "not included" not in shown and "harmless" not in shown


def test_ids_are_escaped_on_a_terminal_and_kept_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pl.DataFrame({"item": ["\x1b[2Jfilm"]})
    write_table(frame, "items", None, as_json=False)
    assert capsys.readouterr().out == "item\n\x1b[2Jfilm\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    write_table(frame, "items", None, as_json=False)
    assert capsys.readouterr().out == "item\n\\x1b[2Jfilm\n"


def test_the_shared_part_can_be_saved_alone(
    grassvine: Command, ratings: Path, tmp_path: Path
) -> None:
    out = tmp_path / "shared"
    assert grassvine("complete", ratings, "--rank", 2, "-o", out, "--shared-only").code == 0
    assert {file.name for file in out.iterdir()} == SHARED
    shown = " ".join(grassvine("inspect", out).out.split())
    assert "shared part items.arrow, model.json, shared.safetensors" in shown
    assert "private part not included" in shown
    done = grassvine("complete", ratings, "--rank", 2, "--shared-only")
    assert (done.code, done.out) == (3, "") and "--shared-only saves a part" in done.err
    samples = write_samples(tmp_path / "samples.csv")
    tasks = ("multitask", samples, "--target", "y", "--task", "school", "--rank", 1)
    for number, command in enumerate([tasks, ("pca", samples)]):
        grassvine(*command, "-o", tmp_path / str(number), "--shared-only")
        assert {file.name for file in (tmp_path / str(number)).iterdir()} == SHARED


def test_inspect_reports_which_parts_are_private(grassvine: Command, model: Path) -> None:
    shown = " ".join(grassvine("inspect", model).out.split())
    assert "shared part items.arrow, model.json, shared.safetensors" in shown
    assert "private part users.arrow: ids of users private.safetensors: weights, biases" in shown
    told = grassvine("inspect", model, "--json").object["private"]
    assert told.keys() == PRIVATE and told["users.arrow"] == ["ids of users"]


def test_a_user_of_several_owners_is_named_with_its_owner(
    grassvine: Command, tmp_path: Path
) -> None:
    table, model = tmp_path / "shops.csv", tmp_path / "owned"
    rows = [
        f"{user},{item},{1 + (user * item + shift) % 5},{shop}"
        for user in range(8)
        for item in range(6)
        for shift, shop in enumerate(("north", "south"))
    ]
    table.write_text("\n".join(["user,item,rating,shop", *rows]))
    fit = ("complete", table, "--rank", 1, "--agents", "shop")
    done = grassvine(*fit, "--shared-users", "error")
    assert done.code == 3 and "8 user ids have ratings with several agents" in done.err
    done = grassvine(*fit, "-o", model)
    assert done.code == 0 and "they are separate users." in done.err
    done = grassvine("recommend", model, "--user", 7, "--seen")
    assert done.code == 3
    assert (
        "2 owners have user 7 ('north', 'south'); name the owner of each user with --owner."
        in done.err
    )
    done = grassvine("recommend", model, "--user", 7, "--owner", "south", "--seen", "--json")
    best = done.object["recommendations"][0]
    assert (best["user"], best["owner"]) == (7, "south")
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(f"user,item,shop\n7,{best['item']},south\n")
    rating = grassvine("predict", model, pairs, "--json").object["predictions"][0]["rating"]
    assert rating == pytest.approx(best["score"], rel=1e-12)
    done = grassvine("recommend", model, "--users", pairs, "--seen", "-k", 1, "--json")
    assert done.object["recommendations"][0]["owner"] == "south"
    new = tmp_path / "new.csv"
    new.write_text("user,item,rating,shop\n7,1,5,south\n")
    done = grassvine("fold-in", model, new, "--json")
    assert done.code == 0
