from pathlib import Path

import pytest

import grassvine as gv
from grassvine.fits.options import with_checkpoint_subfolder
from grassvine.foundations.errors import PlanError
from grassvine.jobs.base import EngineOptions
from grassvine.jobs.pca import PCAJob


def test_an_engine_is_made_by_its_name() -> None:
    assert isinstance(EngineOptions().make_engine(), gv.LocalEngine)
    assert isinstance(EngineOptions(engine="threads").make_engine(), gv.ThreadsEngine)
    assert EngineOptions(engine="ray").make_engine() == gv.RayEngine()


def test_ray_gets_the_options() -> None:
    choice = EngineOptions(
        engine="ray", address="head:6379", agents_per_actor=4, checkpoints="kept", resume=True
    )
    wanted = gv.RayEngine("head:6379", agents_per_actor=4, checkpoint_dir="kept", resume=True)
    assert choice.make_engine() == wanted


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"address": "head:1"}, "address requires the Ray engine; .* omit address"),
        ({"agents_per_actor": 2}, "agents_per_actor requires the Ray .* omit agents_per_actor"),
        (
            {"checkpoints": "kept"},
            "^checkpoints requires the Ray engine; add engine='ray', or omit checkpoints[.]$",
        ),
        ({"resume": True}, "resume requires the Ray engine; .* omit resume"),
        ({"resume": True, "engine": "ray"}, "resume requires the checkpoints of a run; use ch"),
        ({"engine": "rya", "address": "head:1"}, "unknown engine 'rya'; did you mean 'ray'?"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, object], sentence: str) -> None:
    # A request refuses as it is made: nothing has been read.
    with pytest.raises(PlanError, match=sentence):
        PCAJob("no such file", **given)  # type: ignore[arg-type]


def test_only_runs_that_keep_checkpoints_need_separate_folders(tmp_path: Path) -> None:
    engine = gv.RayEngine(checkpoint_dir=tmp_path, resume=True)
    apart = gv.RayEngine(checkpoint_dir=tmp_path / "one", resume=True)
    assert with_checkpoint_subfolder(engine, "one") == apart
    for other in (gv.RayEngine(), gv.LocalEngine()):
        assert with_checkpoint_subfolder(other, "one") is other
