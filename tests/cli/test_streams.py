"""Standard streams that cannot take a character or a byte, and Ctrl-C during imports."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
CALL = "import sys; sys.argv[0] = 'grassvine'; from grassvine.cli import main; main()"
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


def call(
    *arguments: str, stdout: int | None = subprocess.PIPE, code: str = CALL, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        check=False,
    )


@needs_full
@pytest.mark.parametrize("arguments", [["data", "list"], ["data", "list", "--json"], ["--help"]])
def test_a_full_standard_output_is_a_sentence(arguments: list[str]) -> None:
    with FULL.open("wb") as full:
        done = call(*arguments, stdout=full.fileno())
    assert done.returncode == 7
    assert done.stderr.decode() == (
        "grassvine: standard output cannot be written (No space left on device); free disk space, "
        "or redirect it.\n"
    )


@needs_full
@pytest.mark.parametrize(
    ("arguments", "code"), [(["data", "list"], 0), (["complete", "none.csv"], 3), (["--none"], 2)]
)
def test_a_full_standard_error_loses_messages_and_nothing_else(
    arguments: list[str], code: int
) -> None:
    with FULL.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", CALL, *arguments],
            stdout=subprocess.PIPE,
            stderr=full,
            check=False,
        )
    assert done.returncode == code
    assert bool(done.stdout) == (code == 0)


@pytest.mark.parametrize("arguments", [["data", "list"], ["data", "list", "--json"], ["--help"]])
def test_a_closed_pipe_ends_silently(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = call(*arguments, stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_closed_standard_output_is_refused_at_once() -> None:
    done = call(
        "data", "list", code="import os; os.close(1)\nimport sys; sys.stdout = None\n" + CALL
    )
    assert done.returncode == 7
    assert done.stderr.startswith(b"grassvine: standard output is closed; ")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("command", ["complete", "pca", "compare"])
def test_help_is_printed_in_every_encoding(command: str, encoding: str) -> None:
    done = call(command, "--help", PYTHONIOENCODING=encoding)
    assert done.returncode == 0 and done.stderr == b""
    assert b"--agents" in done.stdout
    done.stdout.decode(encoding)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    rows = [f"ρ{k // 4},é{k % 4},{k % 3}" for k in range(24)]
    (folder / "x.csv").write_text("\n".join(["user,item,rating", *rows]), encoding="utf-8")
    fit = ("--rank", "1", "-o", str(folder / "model"))
    assert call("complete", str(folder / "x.csv"), *fit, PYTHONIOENCODING="ascii").returncode == 0
    return folder / "model"


def test_json_escapes_what_the_stream_cannot_encode(model: Path) -> None:
    done = call("recommend", str(model), "--seen", "--json", PYTHONIOENCODING="cp1252")
    users = {row["user"] for row in json.loads(done.stdout)["recommendations"]}
    assert users == {f"ρ{k}" for k in range(6)}


def test_a_table_with_lost_characters_is_refused(model: Path) -> None:
    done = call("recommend", str(model), "--seen", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout) == (7, b"")
    assert done.stderr == (
        b"grassvine: standard output (ascii) cannot take '\\u03c1'; use --json, or set "
        b"PYTHONIOENCODING=utf-8.\n"
    )


INTERRUPT = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            {action}

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder())
"""
PLAINLY = "os.kill(os.getpid(), signal.SIGINT)"
AS_IMPORT_ERROR = """try: os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt: raise ImportError('numpy failed to import')"""
IN_A_CALLBACK = """
            class Gone:
                def __del__(self): os.kill(os.getpid(), signal.SIGINT)
            Gone()"""


@pytest.mark.parametrize("module", ["typer", "grassvine.cli.app", "numpy", "safetensors"])
@pytest.mark.parametrize("action", [PLAINLY, AS_IMPORT_ERROR, IN_A_CALLBACK])
def test_ctrl_c_during_imports_ends_with_130_and_no_traceback(module: str, action: str) -> None:
    code = INTERRUPT.format(module=module, action=action) + CALL
    done = call("complete", "none.csv", code=code)
    assert done.returncode == 128 + signal.SIGINT
    assert b"Traceback" not in done.stderr and b"KeyboardInterrupt" not in done.stderr
    assert done.stdout == b""


def test_the_entry_point_itself_imports_nothing_heavy() -> None:
    code = (
        "import sys; from grassvine.cli import main\n"
        "print([name for name in ('typer', 'rich', 'numpy') if name in sys.modules])"
    )
    assert call(code=code).stdout == b"[]\n"
