"""What was lost in a run and done again is told wherever the run is told."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.commands import Command, write_samples

import grassvine as gv
from grassvine.engines.base import AgentFactory, EngineResult
from grassvine.fits import options
from grassvine.networks import Timetable
from grassvine.protocol import Observer

LOST = "agent 1 was lost at slot 7; all went back to slot 5"
RESUMED = "the run was resumed at slot 3"


class Eventful(gv.LocalEngine):
    """An engine on whose way something is lost."""

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        return replace(super().run(factories, timetable, observe), incidents=(RESUMED, LOST))


@pytest.fixture
def eventful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(options.ENGINES, "local", Eventful)


@pytest.mark.usefixtures("eventful")
def test_every_command_reports_them(grassvine: Command, ratings: Path, tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples.csv")
    for asked in (
        ("complete", ratings, "--rank", 2, "--agents", 2),
        ("multitask", samples, "--target", "y", "--task", "school", "--rank", 1),
        ("pca", samples, "--agents", 2),
    ):
        done = grassvine(*asked, "--json")
        assert done.object["incidents"] == [RESUMED, LOST]
        assert f"{RESUMED}\n{LOST}\n" in done.err
        shown = grassvine(*asked)
        assert RESUMED in shown.out and LOST in shown.out


@pytest.mark.usefixtures("eventful")
def test_a_run_folder_keeps_them_and_its_repetition_has_its_own(
    grassvine: Command, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ratings.with_name("run")
    assert grassvine("complete", ratings, "--rank", 2, "--run", run).code == 0
    record = json.loads((run / "run.json").read_text())
    assert record["report"]["incidents"] == [RESUMED, LOST]
    monkeypatch.undo()
    assert grassvine("rerun", run, "--json").object["incidents"] == []


def test_without_any_there_is_no_row_and_an_empty_list(grassvine: Command, ratings: Path) -> None:
    assert grassvine("complete", ratings, "--rank", 2, "--json").object["incidents"] == []
    assert "incidents" not in grassvine("complete", ratings, "--rank", 2).out
