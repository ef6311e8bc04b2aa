"""The figures that the exact methods are held to, by the rows of ``python -m benchmarks.exact``."""

import pytest
from benchmarks.exact.components import components
from benchmarks.exact.ratings import biased, movielens
from benchmarks.exact.rows import text
from benchmarks.exact.tables import case4
from benchmarks.exact.tasks import SETTINGS, tasks
from tests.real_data import FOLDER, real_file

GOSSIP = "the paper's 1800 exchanges"


@pytest.fixture(autouse=True)
def _where_the_data_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRASSVINE_DATA", str(FOLDER))


def test_a_row_reports_what_and_how_much() -> None:
    row = {"what": "ten agents", "test_rmse": 0.1234567894, "sums": 12, "megabytes": 0.33333}
    assert text(row) == "ten agents: test_rmse 0.123456789, sums 12, megabytes 0.333"


def test_six_agents_find_the_eigenspace_of_digits_by_sums_on_every_network() -> None:
    rows = list(components(sizes=(6,), methods=("tree sums",)))
    assert len(rows) == 2 * 6  # ranks, networks
    assert max(row["from_eigenspace"] for row in rows) <= 1e-10


@pytest.mark.slow
def test_all_find_the_eigenspace_of_digits_on_every_network_by_both_methods() -> None:
    rows = list(components())
    assert len(rows) == 2 * 2 * 6 * 2
    assert max(row["from_eigenspace"] for row in rows) <= 1e-10


@pytest.mark.slow
def test_case_4_takes_less_than_half_of_the_bytes_of_gossip() -> None:
    rows = list(case4())
    (gossip,) = (row for row in rows if row["what"].endswith(GOSSIP))
    assert gossip["messages"] == 2 * 200 * 9
    assert gossip["exact_share"] < 0.5
    assert max(row["from_batch"] for row in rows if row is not gossip) <= 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rank"), SETTINGS)
def test_an_agent_for_every_task_ends_where_a_batch_cannot_gain(name: str, rank: int) -> None:
    real_file({"school": "school/school.mat"}.get(name, "parkinsons/parkinsons_updrs.data"))
    rows = list(tasks(((name, rank),), starts=(0,)))
    assert len(rows) == 1
    assert max(row["gap_to_polished_batch"] for row in rows) <= 1e-9


@pytest.mark.slow
def test_test_errors_on_movielens_are_the_same_at_every_number_of_agents() -> None:
    real_file("ml-1m/ratings.dat")
    *rows, last = movielens()
    assert len(rows) == 5
    assert last["largest_difference_of_test_rmse"] <= 1e-6
    assert rows[0]["test_rmse"] == pytest.approx(0.8843, abs=1e-4)  # RTRMC, reproduction.md


@pytest.mark.slow
def test_offsets_predict_movielens_well() -> None:
    real_file("ml-1m/ratings.dat")
    *_, mean = biased()
    assert mean["test_rmse"] <= 0.850
