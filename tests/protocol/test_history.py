from pathlib import Path

import narwhals
import numpy as np
import pytest
from safetensors.numpy import save_file
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.foundations.errors import DataError, OutputError
from grassvine.protocol import StepReport

# All that a report tells but `finished`, which is a sentence, and what is shown only.
COLUMNS = [name for name in StepReport._fields if name not in ("finished", "share", "held_out")]


@pytest.fixture(scope="module")
def result() -> gv.Run:
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(4), gv.Gossip(max_iter=40))
    return gv.run(plan, [gv.CompletionProblem(p) for p in gv.datasets.split_users(ratings(), 4)])


def test_it_counts_from_zero_and_ends_with_the_final_state(result: gv.Run) -> None:
    for agent in range(4):
        mine = result.history.of_agent(agent)
        assert mine["update"].tolist() == list(range(len(mine)))
        assert mine["slot"][-1] == 40 and mine["neighbour"][-1] == -1
        problem = gv.CompletionProblem(gv.datasets.split_users(ratings(), 4)[agent])
        assert mine["cost"][-1] == problem.evaluate(result.bases[agent]).cost
        assert mine["cost"][0] == problem.evaluate(result.plan.start(agent)).cost
    assert len(result.history.final()) == 4


def test_it_knows_whom_an_agent_met_and_how_far_away(result: gv.Run) -> None:
    first = result.history.where(result.history["slot"] == 0)
    ((one, other),) = result.plan.timetable.meetings(0)
    assert first["agent"].tolist() == [one, other]
    assert first["neighbour"].tolist() == [other, one]
    wanted = gv.geometry.Grassmann().distance(result.plan.start(one), result.plan.start(other))
    np.testing.assert_allclose(first["distance"], wanted, rtol=1e-12)


def test_it_counts_messages_and_bytes(result: gv.Run) -> None:
    assert result.messages == 80
    assert result.bytes == 80 * N_ITEMS * 3 * 8


def test_it_survives_a_file(result: gv.Run, tmp_path: Path) -> None:
    result.history.save(tmp_path / "history.safetensors")
    again = gv.History.load(tmp_path / "history.safetensors")
    assert list(again.columns) == COLUMNS
    for name, column in result.history.columns.items():
        assert again[name].dtype == column.dtype
        assert again[name].tobytes() == column.tobytes()
    assert [path.name for path in tmp_path.iterdir()] == ["history.safetensors"]


def test_a_file_that_is_no_history_is_refused(result: gv.Run, tmp_path: Path) -> None:
    path = tmp_path / "history.safetensors"
    result.history.save(path)
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[: len(whole) // 2], b"", b"not a file of ours"):
        path.write_bytes(damaged)
        with pytest.raises(
            DataError, match=r"is not a history .*; pass a file written by History.save"
        ):
            gv.History.load(path)
    save_file({"basis": np.zeros(3)}, path)
    with pytest.raises(DataError, match="a safetensors file but not a 'grassvine history 1'"):
        gv.History.load(path)


def test_a_missing_file_or_folder_is_named(result: gv.Run, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"nothing does not exist; pass a file written by History.save"
    ):
        gv.History.load(tmp_path / "nothing")
    with pytest.raises(OutputError, match=r"cannot be written .*; choose another path"):
        result.history.save(tmp_path / "no folder" / "history")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_it_becomes_a_data_frame(result: gv.Run, backend: str) -> None:
    frame = narwhals.from_native(result.history.to_frame(backend), eager_only=True)
    assert frame.columns == COLUMNS
    assert frame["cost"].to_list() == result.history["cost"].tolist()
