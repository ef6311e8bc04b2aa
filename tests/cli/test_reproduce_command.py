import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.paper.tiny_cases import make_small_worlds, tiny_cases

from grassvine.cli import main
from grassvine.foundations.errors import MissingExtra
from grassvine.paper import Request, Results

TINY = tiny_cases(slots=3)


@dataclass(frozen=True)
class Called:
    code: int
    out: str
    err: str


Call = Callable[..., Called]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command in this process, so that cases can be tiny ones."""

    def run(*arguments: str) -> Called:
        monkeypatch.setattr(sys, "argv", ["grassvine", "reproduce", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        code = end.value.code
        assert code is None or isinstance(code, int)
        return Called(code or 0, said.out, said.err)

    return run


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Tiny cases; no data set is there but a file of ratings, which is returned."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("GRASSVINE_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("grassvine.datasets.store.cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr("grassvine.paper.CASES", dict(TINY))
    return make_small_worlds(monkeypatch, tmp_path)


class Untouched:
    """An experiment that must not run."""

    def run(self, request: Request) -> Results:
        raise AssertionError("work was begun")


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = {name: replace(case, experiment=Untouched()) for name, case in TINY.items()}
    monkeypatch.setattr("grassvine.paper.CASES", cases)


def test_one_object_goes_to_standard_output_and_nothing_else(
    call: Call, world: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = call("case6", "--json", "--seed", "3", "--agents", "2", "--out", str(out))
    assert done.code == 0, done.err
    assert done.out.count("\n") == 1
    found = json.loads(done.out)
    assert (found["case"], found["scale"], found["seed"]) == ("case6", "small", 3)
    assert {run["n_agents"] for run in found["runs"]} == {1, 2}
    assert found == json.loads((out / "case6.json").read_text())
    assert done.err == f"case6: {out / 'case6.html'}\n"


def test_without_json_claims_are_shown_for_the_eye(call: Call, world: Path, tmp_path: Path) -> None:
    done = call("case3", "--out", str(tmp_path / "out"), "--engine", "threads")
    assert done.code == 0, done.err
    assert TINY["case3"].title in done.out
    assert "does not hold" in done.out and "neighbours" in done.out
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {
        ".html",
        ".json",
        ".md",
        ".png",
        ".svg",
    }


def test_a_file_of_ratings_is_a_data_set(call: Call, world: Path, tmp_path: Path) -> None:
    done = call("case5", "--json", "--dataset", str(world), "--out", str(tmp_path / "out"))
    assert done.code == 0, done.err
    assert {run["dataset"] for run in json.loads(done.out)["runs"]} == {str(world)}


def test_all_goes_on_without_absent_data_and_names_what_was_not_run(
    call: Call, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = {name: TINY[name] for name in ("case5", "case1", "case6")}
    monkeypatch.setattr("grassvine.paper.CASES", some)
    out = tmp_path / "out"
    done = call("all", "--json", "--out", str(out))
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert list(found) == ["case", "scale", "seed", "cases", "not_run"]
    assert [one["case"] for one in found["cases"]] == ["case1", "case6"]
    assert list(found["not_run"]) == ["case5"]
    assert "MovieLens 100K not found at" in found["not_run"]["case5"]
    assert "case5 was not run: MovieLens 100K not found at" in done.err
    assert f"all: {out / 'index.html'}\n" in done.err
    index = (out / "index.html").read_text()
    assert "Not run" in index and "MovieLens 100K not found at" in index
    assert (out / "case1.html").is_file() and not (out / "case5.html").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["case44"], 3, "grassvine: unknown case 'case44'; did you mean 'case4'?"),
        (["zzz"], 3, "grassvine: unknown case 'zzz'; choose from all, case1, case2"),
        (["case1", "--agents", "1"], 2, "greater than or equal to 2"),
        (["case1", "--repeats", "0"], 2, "greater than or equal to 1"),
        (["case1", "--seed", "-1"], 2, "greater than or equal to 0"),
        (["case1", "--scale", "huge"], 2, "'huge' is not one of"),
        (["case1", "--engine", "spark"], 2, "'spark' is not one of"),
        ([], 2, "Missing argument"),
        (["case1", "--out", "/dev/null/x"], 7, "/dev/null/x cannot be written to (Not a directory"),
        (["all", "--out", "/dev/null/x"], 7, "/dev/null/x cannot be written to (Not a directory"),
    ],
)
@pytest.mark.usefixtures("no_work")
def test_a_wrong_option_is_a_sentence_before_any_work(
    call: Call,
    arguments: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    done = call(*arguments)
    assert done.code == code
    assert message in done.err and "Traceback" not in done.err
    assert done.out == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["case5"], "grassvine: MovieLens 100K not found at "),
        (["case5", "--scale", "paper"], "grassvine: "),
        (
            ["case5", "--dataset", "ml-100kk"],
            "did you mean 'ml-100k'? Or pass the path of a ratings file",
        ),
    ],
)
def test_a_missing_data_set_is_a_sentence(
    call: Call, world: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    case: Any = TINY["case5"].experiment
    assert case.defaults["small"] == ("ml-100k",)
    done = call(*arguments, "--json", "--out", str(tmp_path / "out"))
    assert done.code == 3
    assert message in done.err and "Traceback" not in done.err
    assert done.out == ""


@pytest.mark.usefixtures("no_work")
def test_without_matplotlib_it_reports_what_to_install_before_any_work(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = call("case1", "--out", str(tmp_path / "out"))
    assert done.code == 2
    assert done.err == f"grassvine: {MissingExtra('a page with figures', 'plots')}\n"
    assert "pip install 'grassvine[plots]'" in done.err
    assert not (tmp_path / "out").exists() and done.out == ""
