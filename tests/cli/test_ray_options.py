"""What commands do with the options of Ray. The engine that they make is not Ray's here."""

import socket
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.cli.commands import Command, write_samples

import grassvine as gv
from grassvine.jobs import base

RAY = ("--engine", "ray", "--address", "head:6379", "--agents-per-actor", 2)
ASKED = {"agents_per_actor": 2, "checkpoint_dir": "kept", "resume": True}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was asked of the engines that were made."""
    calls: list[Any] = []

    def make(address: str | None, **given: Any) -> gv.LocalEngine:
        calls.append((address, given))
        return gv.LocalEngine()

    monkeypatch.setattr(base, "RayEngine", make)
    return calls


def test_every_command_that_learns_hands_them_on(
    grassvine: Command, ratings: Path, tmp_path: Path, made: list[Any]
) -> None:
    samples = write_samples(tmp_path / "samples.csv")
    for asked in (
        ("complete", ratings, "--rank", 2, "--agents", 2),
        ("multitask", samples, "--target", "y", "--task", "school", "--rank", 1),
        ("pca", samples, "--agents", 2),
    ):
        assert grassvine(*asked, *RAY, "--checkpoints", "kept", "--resume").code == 0
        assert made.pop() == ("head:6379", ASKED)


def test_a_run_is_repeated_from_its_start(
    grassvine: Command, ratings: Path, made: list[Any]
) -> None:
    asked = ("complete", ratings, "--rank", 2, *RAY, "--checkpoints", "kept", "--resume")
    run = ratings.with_name("run")
    assert grassvine(*asked, "--run", run).code == 0
    assert grassvine("rerun", run, "--json").object["same"] is True
    assert made == [("head:6379", ASKED)]  # a run folder does not choose the engine
    assert grassvine("rerun", run, *RAY, "--json").object["same"] is True
    repeated = {"agents_per_actor": 2, "checkpoint_dir": None, "resume": False}
    assert made == [("head:6379", ASKED), ("head:6379", repeated)]


@pytest.mark.usefixtures("made")
def test_a_model_does_not_report_where_it_was_made(grassvine: Command, ratings: Path) -> None:
    model = ratings.with_name("model")
    asked = ("complete", ratings, "--rank", 2, *RAY, "--checkpoints", "kept", "--resume")
    assert grassvine(*asked, "-o", model).code == 0
    parameters = grassvine("inspect", model, "--json").object["card"]["parameters"]
    assert parameters["engine"] == "ray" and parameters["rank"] == 2
    assert not {"data", "address", "checkpoints", "resume"} & set(parameters)


def test_they_come_from_a_file_too(
    grassvine: Command, ratings: Path, tmp_path: Path, made: list[Any]
) -> None:
    config = tmp_path / "options.toml"
    config.write_text(
        'engine = "ray"\naddress = "head:6379"\nagents-per-actor = 2\ncheckpoints = "kept"\n'
        "resume = true\n"
    )
    assert grassvine("complete", ratings, "--rank", 2, "--config", config).code == 0
    assert made == [("head:6379", ASKED)]


@pytest.mark.parametrize("command", ["complete", "pca", "doctor"])
@pytest.mark.parametrize("engine", [(), ("--engine", "threads")])
def test_another_engine_has_no_use_for_them(
    grassvine: Command, command: str, engine: tuple[str, ...]
) -> None:
    data = () if command == "doctor" else ("no such file",)
    done = grassvine(command, *data, *engine, "--checkpoints", "kept")
    assert (done.code, done.out) == (3, "")
    assert done.err == (
        "grassvine: --checkpoints requires the Ray engine; add --engine ray, or omit "
        "--checkpoints.\n"
    )
    done = grassvine(command, *data, *engine, "--address", "head:6379")
    assert done.code == 3 and "add --engine ray, or omit --address." in done.err


def test_the_doctor_knows_engines_by_name(grassvine: Command) -> None:
    done = grassvine("doctor", "--engine", "rya")
    assert done.code == 3 and "unknown engine 'rya'; did you mean 'ray'?" in done.err
    assert grassvine("doctor", "--json").object["cluster"] is None


def test_without_ray_the_command_that_installs_it_is_given(
    grassvine: Command, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    for asked in (("doctor",), ("complete", ratings, "--rank", 2)):
        done = grassvine(*asked, "--engine", "ray")
        assert (done.code, done.out) == (2, "")
        wanted = "the Ray engine needs an optional dependency: pip install 'grassvine[ray]'"
        assert done.err.splitlines()[-1] == f"grassvine: {wanted}"


def test_an_address_where_nobody_is_is_a_sentence(
    grassvine: Command, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = SimpleNamespace(is_initialized=lambda: False, __spec__=ModuleSpec("ray", None))
    monkeypatch.setitem(sys.modules, "ray", ray)
    with socket.socket() as taken:  # bound and not listening
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for asked in (("doctor",), ("complete", ratings, "--rank", 2)):
            done = grassvine(*asked, "--engine", "ray", "--address", address)
            assert (done.code, done.out) == (3, "")
            assert f"grassvine: cannot reach {address} (" in done.err
