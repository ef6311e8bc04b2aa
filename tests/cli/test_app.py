import json
import subprocess
import sys
from pathlib import Path

import pytest

import grassvine

COMMAND = [sys.executable, "-c", "from grassvine.cli import main; main()"]


def call(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


def test_the_demo_prints_one_object_and_nothing_else(tmp_path: Path) -> None:
    done = call("demo", "--json", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    errors = result["relative_error"]
    assert list(errors) == ["alone", "gossip", "exact", "pooled"]
    assert errors["alone"] >= 1.3 * errors["pooled"]
    assert errors["exact"] == pytest.approx(errors["pooled"], rel=1e-9)
    assert result["worse_than_pooled"]["alone"] == errors["alone"] / errors["pooled"] - 1.0
    assert result["worst_relative_error"]["alone"] > errors["alone"]
    assert result["n_agents"] == 6 and result["n_images"] + result["n_test_images"] == 1083
    assert result["gossip"]["bytes"] == result["gossip"]["messages"] * 64 * result["rank"] * 8
    assert 0.0 < result["gossip"]["agreement_degrees"] < 20.0
    assert result["exact"]["agreement_degrees"] < 1e-6
    assert Path(result["picture"]).is_file()
    assert done.stderr == ""  # no progress bar where there is no terminal


def test_the_demo_replaces_no_picture_unless_told(tmp_path: Path) -> None:
    """It is refused before anything is computed."""
    (tmp_path / "digits.png").write_bytes(b"mine")
    done = call("demo", "--out", str(tmp_path))
    assert done.returncode == 7 and done.stdout == ""
    assert "already exists; choose another path, or use --overwrite" in done.stderr
    assert (tmp_path / "digits.png").read_bytes() == b"mine"


@pytest.mark.slow  # tests/demo prints the same table from one comparison
def test_the_demo_prints_a_table(tmp_path: Path) -> None:
    done = call("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for part in ("each agent alone", "gossip", "exact (default)", "pooled", "% worse", "equal"):
        assert part in done.stdout
    assert done.stdout.count("What to look for: ") == 1
    assert (tmp_path / "grassvine-demo" / "digits.png").is_file()


def test_it_reports_its_version() -> None:
    assert call("--version").stdout == f"grassvine {grassvine.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["demo", "--missing", "1.5"], 3, "grassvine: --missing is 1.5; choose a finite number"),
        (["demo", "--missing", "0"], 3, "grassvine: no pixel of the test images is erased"),
        (["demo", "--missing", "0.999"], 3, "grassvine: agent 0 knows only"),
        (["demo", "--agents", "21"], 2, "20"),
        (["demo", "--agents", "1"], 2, "greater than or equal to 2"),
        (["demo", "--seed", "-1"], 3, "grassvine: --seed is -1; choose a number of at least 0"),
        (["demo", "--sed", "1"], 2, "No such option: --sed"),
        (["dem"], 2, "No such command 'dem'"),
        (["demo", "--out", "/dev/null/x"], 7, "grassvine: /dev/null/x cannot be written to (Not a"),
    ],
)
def test_a_wrong_option_is_a_sentence_not_a_traceback(
    arguments: list[str], code: int, message: str, tmp_path: Path
) -> None:
    done = call(*arguments, cwd=tmp_path)  # the checkout may have the picture of a demo
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
