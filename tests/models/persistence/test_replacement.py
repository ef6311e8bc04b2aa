"""A saved model is there at every moment while it is replaced, whoever is killed or reads."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.models.model_samples import ratings_model
from tests.models.persistence.forging import PRIVATE, SHARED
from tests.models.persistence.test_files import names

from grassvine.foundations import folders
from grassvine.foundations.errors import OutputError
from grassvine.models import RatingsModel, inspect, load, save

WAYS = ["exchange", "rename"]
HARNESS = Path(__file__).with_name("killed_saves.py")


def seed_of(model: object) -> int:
    """Return which of two models this is."""
    assert isinstance(model, RatingsModel) and model.private is not None
    return [
        (ratings_model(seed=seed).shared.factors == model.shared.factors).all() for seed in (0, 1)
    ].index(True)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Exchange folders in one step, or by renames where the system cannot."""
    if request.param == "rename":
        monkeypatch.setattr(folders, "_exchange", lambda *_: False)
    return str(request.param)


@pytest.mark.parametrize("way", WAYS)
def test_a_killed_save_leaves_the_old_model_or_the_new_one(tmp_path: Path, way: str) -> None:
    save(ratings_model(seed=0), tmp_path / "old")
    save(ratings_model(seed=1), tmp_path / "new")
    subprocess.run([sys.executable, HARNESS, tmp_path, way], check=True)
    cases = sorted(path for path in tmp_path.iterdir() if path.name.isdigit())
    found = [seed_of(load(case / "model")) for case in cases]
    assert found == sorted(found) and {*found} == {0, 1} and len(cases) > 30
    left = [case for case in cases if names(case) != {"model"}]
    assert len(left) > 20
    for case in cases:
        save(ratings_model(seed=0), case / "model", overwrite=True)
        assert names(case) == {"model"} and names(case / "model") == SHARED | PRIVATE
        assert seed_of(load(case / "model")) == 0


def test_readers_beside_two_writers_always_load_a_model(tmp_path: Path, way: str) -> None:
    target = save(ratings_model(), tmp_path / "model")

    def write(seed: int) -> None:
        for _ in range(20):
            save(ratings_model(seed=seed), target, overwrite=True)

    writers = [threading.Thread(target=write, args=(seed,)) for seed in (0, 1)]
    assert _read_beside(target, writers, lambda: any(w.is_alive() for w in writers)) == {0, 1}
    assert names(tmp_path) == {"model"}


@pytest.mark.slow
def test_readers_beside_two_processes_always_load_a_model(tmp_path: Path) -> None:
    target = save(ratings_model(), tmp_path / "model")
    code = (
        "import sys; from grassvine.models import load, save; model = load(sys.argv[1])\n"
        "while True: save(model, sys.argv[2], overwrite=True)"
    )
    writers = []
    for seed in (0, 1):
        source = save(ratings_model(seed=seed), tmp_path / str(seed))
        writers.append(subprocess.Popen([sys.executable, "-c", code, source, target]))
    try:
        found: set[int] = set()
        while found != {0, 1}:  # both have started
            assert all(writer.poll() is None for writer in writers)
            found.add(seed_of(load(target)))
        end = time.monotonic() + 5.0
        assert _read_beside(target, [], lambda: time.monotonic() < end) == {0, 1}
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    save(ratings_model(), target, overwrite=True)
    assert names(tmp_path) == {"model", "0", "1"}


def _read_beside(
    target: Path, writers: list[threading.Thread], busy: Callable[[], bool]
) -> set[int]:
    """Load while writers are busy; return which models were found."""
    for writer in writers:
        writer.start()
    found = set()
    while busy():
        found.add(seed_of(load(target)))
        assert inspect(target).private
    return found


def test_what_others_left_behind_is_removed_by_the_next_save(tmp_path: Path) -> None:
    save(ratings_model(), tmp_path / "model")
    token = "0123456789abcdef" * 2
    others = {".model.notes.partial", f".other.{token}.partial", f".model.{token}.partial.txt"}
    for name in {f".model.{token}.partial", f".model.{token}.old", *others}:
        (tmp_path / name).mkdir()
        (tmp_path / name / "private.safetensors").write_bytes(b"ratings")
    save(ratings_model(), tmp_path / "model", overwrite=True)
    assert names(tmp_path) == {"model", *others}


def test_an_interrupted_replacement_is_recovered(tmp_path: Path) -> None:
    target = save(ratings_model(), tmp_path / "model")
    target.rename(tmp_path / f".model.{'0' * 32}.old")  # killed between the renames
    assert seed_of(load(target)) == 0 and inspect(target).private
    with pytest.raises(OutputError, match="already exists; choose another path"):
        save(ratings_model(seed=1), target)
    save(ratings_model(seed=1), target, overwrite=True)
    assert seed_of(load(target)) == 1 and names(tmp_path) == {"model"}
