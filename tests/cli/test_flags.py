"""The command line speaks its own flags."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.commands import Command, rating_lines, write_ratings, write_samples

from grassvine.cli.app import app
from grassvine.cli.flags import ALIASES, flag_writer
from grassvine.foundations.errors import Option

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
# What an error in the words of Python would contain.
PYTHON = re.compile(
    r"\b[a-z_]+=['\w]|=True|\b(share(?! of)|mu|n_agents|max_iter|random_state|on_unknown)\b"
)


@pytest.mark.parametrize(
    ("command", "option", "flag"),
    [
        ("complete", Option("duplicates", "mean"), "--duplicates mean"),
        ("complete", Option("max_iter"), "--max-iter"),
        ("complete", Option("share", 0.2), "--holdout 0.2"),
        ("complete", Option("n_agents"), "--agents"),
        ("complete", Option("overwrite", True), "--overwrite"),
        ("complete", Option("user", "the user"), "--user 'the user'"),
        ("complete", Option("out"), "--out"),
        ("complete", Option("checkpoint_dir"), "--checkpoints"),
        ("pca", Option("n_components", 3), "--components 3"),
        ("fold-in", Option("unknown_items", "drop"), "--drop-unknown"),
        ("recommend", Option("as_json"), "--json"),
        ("pca", Option("duplicates", "mean"), "duplicates='mean'"),
        ("complete", Option("ratings", "x"), "ratings='x'"),
    ],
)
def test_an_option_is_a_flag_of_the_command_that_has_it(
    command: str, option: Option, flag: str
) -> None:
    assert flag_writer(COMMANDS[command].params)(option) == flag


def test_every_alias_is_an_option_of_some_command() -> None:
    names = {one.name for command in COMMANDS.values() for one in command.params}
    assert set(ALIASES.values()) <= names and not set(ALIASES) & names


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    lines = rating_lines()
    write_ratings(folder / "r.csv", lines)
    write_ratings(folder / "twice.csv", [*lines, *lines[:3]])
    write_ratings(folder / "five.csv", [*lines[:4], "7,001,five,house 0", *lines[5:200]])
    write_ratings(folder / "gap.csv", [*lines, "7,001,,house 0"])
    write_ratings(folder / "far.csv", [*lines, "7,001,1e300,house 0"])
    write_ratings(folder / "shared.csv", [*lines, "100,099,3,house 9"])
    write_samples(folder / "s.csv")
    (folder / "plain.csv").write_text("a,b\n1,2\n")
    (folder / "made").mkdir()
    (folder / "made" / "digits.png").touch()
    return folder


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            "complete twice.csv",
            3,
            "keep one of each, or use --duplicates mean or --duplicates last",
        ),
        ("compare twice.csv", 3, "or use --duplicates mean or --duplicates last."),
        ("complete gap.csv", 3, "(line 322); remove those rows, or use --missing drop."),
        (
            "complete five.csv",
            3,
            "1 of 200 ratings in column 'rating' is not a number, line 6: 'five'",
        ),
        ("complete far.csv", 3, "the rating 1e+300 on line 322 is not between"),
        (
            "complete shared.csv --agents owner --shared-users error",
            3,
            "merge them, or use --shared-users separate to treat them as separate users.",
        ),
        ("complete r.csv --shared-users both", 3, "--shared-users is 'both'; choose from error"),
        ("pca s.csv --components 1.5", 3, "--components is '1.5'; use an integer, or a fraction"),
        (
            "pca s.csv --components .5 --method gossip",
            3,
            "method 'gossip' does not support; pass a number of components, or --method exact.",
        ),
        ("complete plain.csv", 3, "choose the columns with --user, --item, --rating. The columns"),
        ("complete r.csv --rank x", 3, "--rank is 'x'; use an integer or auto."),
        ("complete r.csv --rank 99", 3, "--rank is 99, but the table has 15 items"),
        ("complete r.csv --holdout 1.5", 3, "--holdout is 1.5; choose a finite number"),
        ("complete r.csv --holdout 0.00001", 3, "--holdout 1e-05 holds out none of 320 ratings"),
        ("complete r.csv --holdout 0.9999", 3, "--holdout 0.9999 leaves no rating to fit"),
        ("complete r.csv --agents 100", 3, "--agents is 100, but there are 40 users"),
        (
            "complete r.csv --agents 0",
            3,
            "--agents is 0, but there are 40 users and each agent needs one; choose",
        ),
        ("complete r.csv --seed -1", 3, "--seed is -1; choose a number of at least 0"),
        ("complete r.csv --method map --regularization -1", 3, "--regularization is -1; choose"),
        ("complete r.csv --method gossip", 3, "use --agents 2, or --method bayes, which supports"),
        ("complete r.csv --method gossip --max-iter 0", 3, "--max-iter is 0; choose"),
        ("complete r.csv --method gossip --rank auto", 3, "for --rank, or --method bayes."),
        ("complete r.csv --duplicates frist", 3, "--duplicates is 'frist'; choose from error"),
        ("complete r.csv --skip-rows 999", 3, "--skip-rows is 999, but"),
        ("complete r.csv --encoding nonsense", 3, "--encoding is 'nonsense', by which"),
        (
            "complete r.csv --resume",
            3,
            "--resume requires the Ray engine; add --engine ray, or omit",
        ),
        ("complete r.csv --stored --agents owner --holdout .1", 3, "omit --holdout or --stored."),
        (
            "multitask s.csv --target y --task school --holdout .001",
            3,
            "--holdout 0.001 holds out no",
        ),
        ("multitask s.csv --target y --task school --rank 9", 3, "--rank is 9, but there are 3"),
        ("multitask s.csv --target y --task school --agents x", 3, "--agents is 'x'; use a number"),
        ("pca s.csv --components 9", 3, "--components is 9, but"),
        ("pca s.csv --method gossip --agents 1", 3, "use --agents 2, or --method exact"),
        ("demo --missing 0", 3, "no pixel of the test images is erased; increase --missing."),
        (
            "demo --out made",
            7,
            "digits.png already exists; choose another path, or use --overwrite.",
        ),
    ],
)
def test_errors_from_below_name_flags(
    grassvine: Command,
    tables: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: str,
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tables)
    done = grassvine(*arguments.split())
    assert done.code == code and message in done.err
    *_, last = done.err.splitlines()
    assert last.startswith("grassvine: ") and not PYTHON.search(last)
    assert done.out == ""


def test_what_was_detected_is_reported_on_failure(grassvine: Command, tables: Path) -> None:
    done = grassvine("complete", tables / "five.csv")
    assert done.err.splitlines()[:3] == [
        f"{tables / 'five.csv'} is separated by commas.",
        f"{tables / 'five.csv'} has a header.",
        "By name, 'user' holds the users, 'item' holds the items, 'rating' holds the ratings.",
    ]


def test_a_saved_model_speaks_flags_too(grassvine: Command, tables: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    fit = ("complete", tables / "r.csv", "--rank", 1, "-o", model)
    assert grassvine(*fit).code == 0
    again = grassvine(*fit)
    assert again.code == 7 and again.err.endswith("choose another path, or use --overwrite.\n")
    unknown = grassvine("recommend", model, "--user", 5)
    assert "use --on-unknown nan or --on-unknown fallback." in unknown.err
    (tmp_path / "new.csv").write_text("user,item,rating\n900,999,3\n900,001,\n")
    missing = grassvine("fold-in", model, tmp_path / "new.csv")
    assert "or use --missing drop." in missing.err
    absent = grassvine("fold-in", model, tmp_path / "new.csv", "--missing", "drop")
    assert absent.code == 3 and "drop them, or use --drop-unknown." in absent.err


def test_other_encodings_and_skipped_lines_are_read(grassvine: Command, tmp_path: Path) -> None:
    text = "exportée\n" + "\n".join(
        ["user,item,rating", *(f"é{k // 5},{k % 5},{k % 4}" for k in range(40))]
    )
    (tmp_path / "x.csv").write_bytes(text.encode("latin-1"))
    read = ("--rank", 1, "--skip-rows", 1, "--encoding", "latin-1", "--json")
    found = grassvine("complete", tmp_path / "x.csv", *read, "--run", tmp_path / "run").object
    assert (found["n_users"], found["n_items"]) == (8, 5)
    assert grassvine("rerun", tmp_path / "run").code == 0
