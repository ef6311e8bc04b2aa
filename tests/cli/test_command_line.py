import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.commands import Command

from grassvine.cli.app import EPILOG, app

DOCS = Path(__file__).parents[2] / "docs" / "command-line.md"


def names() -> list[str]:
    return [
        str(command.name or command.callback.__name__)  # type: ignore[union-attr]
        for command in app.registered_commands
    ]


def test_help_lists_commands_and_exit_codes_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['grassvine', '--help']\n"
        "from grassvine.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = ('numpy', 'polars', 'numba', 'sklearn', 'scipy', 'matplotlib')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")
    for name in names():
        assert name in done.stdout
    assert "130 interrupted" in " ".join(done.stdout.split())


def test_the_documentation_shows_every_command_and_code() -> None:
    text = DOCS.read_text()
    for name in names():
        assert f"grassvine {name}" in text, name
    for code in (0, 1, 2, 3, 4, 7, 130, 143):
        assert f"| {code} |" in text
        assert f"{code} " in EPILOG


def test_too_little_address_space_is_one_sentence(ratings: Path) -> None:
    code = "import sys; from grassvine.cli import main; main()"
    command = 'ulimit -v 900000; exec "$@"'
    arguments = [sys.executable, "-c", code, "complete", str(ratings), "--rank", "2"]
    done = subprocess.run(
        ["sh", "-c", command, "sh", *arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("grassvine: the address space is limited to 0.9 GB, but the")
    assert done.stderr.count("\n") == 1


def test_memory_that_runs_out_is_one_sentence(
    grassvine: Command, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grassvine.jobs.completion import CompletionJob

    def learn(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(CompletionJob, "learn", learn)
    done = grassvine("complete", ratings, "--rank", 2)
    assert (done.code, done.out) == (3, "")
    assert done.err.endswith(
        "grassvine: there is not enough memory; use less data, or more memory.\n"
    )


def test_a_reader_that_goes_away_gets_no_traceback() -> None:
    """Standard output is a pipe whose other end is closed before the first byte."""
    code = (
        "import os, sys\n"
        "read, write = os.pipe(); os.close(read); os.dup2(write, 1)\n"
        "sys.argv = ['grassvine', 'data', 'list', '--json']\n"
        "from grassvine.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr == ""


def test_the_doctor_reports_what_is_there_and_how_to_install_the_rest(
    grassvine: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grassvine.report import doctor

    monkeypatch.setitem(doctor.EXTRAS, "nonsense", ("no_such_module",))
    found = grassvine("doctor", "--json").object
    assert found["versions"]["numpy"] and found["processors"] >= 1 and found["blas"]
    extras = {extra["name"]: extra for extra in found["extras"]}
    assert extras["plots"] == {"name": "plots", "installed": True, "install": None}
    assert extras["nonsense"]["install"] == "pip install 'grassvine[nonsense]'"
    assert "pip install 'grassvine[nonsense]'" in grassvine("doctor").out
