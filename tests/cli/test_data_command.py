import json
from pathlib import Path
from typing import Any

import pytest
from tests.datasets.rating_files import ROWS, u_data
from typer.testing import CliRunner

from grassvine.cli.data import data_app
from grassvine.datasets import SOURCES, fetch, store
from grassvine.foundations.errors import DataError
from grassvine.report.progress import ProgressBar


@pytest.fixture(autouse=True)
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRASSVINE_DATA", str(tmp_path))
    monkeypatch.setattr(store, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setenv("COLUMNS", "200")


def put(folder: Path) -> Path:
    folder.mkdir()
    (folder / "u.data").write_text(u_data(ROWS))
    return folder


def test_the_list_shows_every_data_set_and_where_it_is(tmp_path: Path) -> None:
    folder = put(tmp_path / "ml-100k")
    done = CliRunner().invoke(data_app, ["list", "--json"])
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert list(rows) == list(SOURCES)
    assert rows["ml-100k"]["path"] == str(folder) and rows["ml-1m"]["path"] is None
    assert rows["school"]["counts"] == {"samples": 15_362, "tasks": 139, "features": 28}
    assert rows["ml-1m"]["address"].startswith("https://") and "cite" in rows["ml-1m"]["terms"]


def test_the_list_is_a_table_for_the_eye(tmp_path: Path) -> None:
    put(tmp_path / "ml-100k")
    done = CliRunner().invoke(data_app, ["list"])
    lines = {line.split("│")[1].strip(): line for line in done.stdout.splitlines() if "│" in line}
    assert "1,000,209 ratings, 6,040 users, 3,706 items" in lines["ml-1m"]
    assert "absent" in lines["ml-1m"] and "absent" not in lines["ml-100k"]


def test_fetching_prints_the_path_and_reports_the_terms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, Path | None]] = []

    def pretend(name: str, folder: Path | None, progress: object, watch: object) -> Path:
        calls.append((name, folder))
        return tmp_path / "there"

    assert fetch is store.fetch
    monkeypatch.setattr(store, "fetch", pretend)
    done = CliRunner().invoke(data_app, ["fetch", "ml-1m"])
    assert done.stdout == f"{tmp_path / 'there'}\n"
    assert "terms of MovieLens 1M: research only" in done.stderr
    done = CliRunner().invoke(data_app, ["fetch", "ml-1m", "--folder", "x", "--json"])
    assert json.loads(done.stdout) == {"name": "ml-1m", "path": str(tmp_path / "there")}
    assert calls == [("ml-1m", None), ("ml-1m", Path("x"))]


def test_downloading_and_checking_show_their_share_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[float, str | None]] = []

    def pretend(name: str, folder: Path | None, progress: Any, watch: Any) -> Path:
        progress(1_000_000, None)  # the size is unknown
        progress(1_500_000, 3_000_000)
        watch(0.25)
        return tmp_path

    monkeypatch.setattr(store, "fetch", pretend)
    monkeypatch.setattr(
        ProgressBar, "update", lambda _, share, title=None: shown.append((share, title))
    )
    assert CliRunner().invoke(data_app, ["fetch", "ml-1m"]).exit_code == 0
    assert shown == [(0.5, "downloading ml-1m, 1.5 of 3.0 MB"), (0.25, "checking ml-1m")]


def test_what_cannot_be_fetched_is_refused_with_the_reason() -> None:
    done = CliRunner().invoke(data_app, ["fetch", "netflix"])
    assert isinstance(done.exception, DataError)
    assert "no download address for the Netflix Prize; get it by hand" in str(done.exception)
    done = CliRunner().invoke(data_app, ["fetch", "nettflix"])
    assert "unknown data set 'nettflix'; did you mean 'netflix'?" in str(done.exception)
    assert done.stdout == ""
