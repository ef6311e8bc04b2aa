"""``grassvine watch`` and ``--live``."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.commands import Command

from grassvine.foundations.errors import MissingExtra
from grassvine.runs.progress import FILE

for module in ("starlette", "sse_starlette", "uvicorn", "plotly"):
    pytest.importorskip(module, reason="the extra 'live' is not installed")

ADDRESS = re.compile(r"live page: (http://127\.0\.0\.1:\d+/[\w-]{32}/)\n")


def test_watch_prints_an_address_that_answers_until_it_is_terminated(tmp_path: Path) -> None:
    from tests.live.pages import ask

    program = [sys.executable, "-c", "from grassvine.cli import main; main()", "watch"]
    process = subprocess.Popen(
        [*program, str(tmp_path / "later"), "--no-browser"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    found = ADDRESS.fullmatch(process.stderr.readline())
    assert found is not None
    path = "/" + found[1].split("/", 3)[3]
    assert ask(found[1], path)[0] == 200
    process.send_signal(signal.SIGTERM)  # shells let jobs in the background ignore SIGINT
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 143 and "Traceback" not in messages


def test_live_shows_a_run_that_is_not_saved_and_ends_with_it(
    grassvine: Command, ratings: Path
) -> None:
    before = set(ratings.parent.iterdir())
    done = grassvine("complete", ratings, "--rank", 1, "--live")
    assert done.code == 0 and ADDRESS.search(done.err)
    assert set(ratings.parent.iterdir()) == before


def test_live_follows_the_folder_of_a_run_that_is_saved(
    grassvine: Command, ratings: Path, tmp_path: Path
) -> None:
    done = grassvine("complete", ratings, "--rank", 1, "--live", "--run", tmp_path / "run")
    assert done.code == 0 and (tmp_path / "run" / FILE).exists()


def test_without_the_extra_nothing_is_read(
    grassvine: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*arguments: object) -> None:
        raise MissingExtra("the live page", "live")

    monkeypatch.setattr("grassvine.foundations.extras.load_extra", missing)
    done = grassvine("complete", "nothing.csv", "--live")
    assert done.code == 2 and "pip install 'grassvine[live]'" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--token", "short"), "--token must have at least 16"),
        (("--host", "203.0.113.1"), "203.0.113.1:0 cannot be listened at"),
    ],
)
def test_wrong_options_are_one_sentence(
    grassvine: Command, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    done = grassvine("watch", tmp_path, *options)
    assert done.code == 3 and message in done.err
