import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.image as images
import matplotlib.pyplot as plt
import numpy as np
import pytest
from tests import samples

import grassvine as gv
from grassvine.data import split_users
from grassvine.foundations.errors import BasisError, OutputError
from grassvine.report.displays.predictions import calibration
from grassvine.report.run_pictures import _final_error, run_pictures, write_run_pictures
from grassvine.sums import BiasedFactorization


def run(n_agents: int, method: Any = None) -> gv.Run:
    parts = np.array_split(samples.samples(), n_agents)
    plan = gv.Plan(samples.N_ITEMS, 2, gv.networks.path(n_agents), method or gv.Exact())
    return gv.run(plan, [gv.PCAProblem(part) for part in parts])


def test_a_run_is_written_as_pictures_of_the_same_bytes_whatever_the_settings(
    tmp_path: Path,
) -> None:
    result = run(3, gv.Gossip(max_iter=40))
    pictures = run_pictures(result.history, result.plan.network, result.bases)
    before, figures = dict(mpl.rcParams), plt.get_fignums()
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red"}):
        written = write_run_pictures(
            tmp_path / "new", result.history, result.plan.network, result.bases
        )
    assert dict(mpl.rcParams) == before and plt.get_fignums() == figures
    assert [path.name for path in written] == [
        "cost.png",
        "network.png",
        "agreement.png",
        "angles.png",
    ]
    assert [path.read_bytes() for path in written] == list(pictures.values())
    assert all(
        images.imread(io.BytesIO(data)).shape[:2] == (600, 1080) for data in pictures.values()
    )


@pytest.mark.parametrize("n_agents", [1, 3])
def test_agents_that_share_one_subspace_have_no_pictures_of_agreement(n_agents: int) -> None:
    result = run(n_agents)
    assert list(run_pictures(result.history, result.plan.network, result.bases)) == [
        "cost",
        "network",
    ]


def test_candidates_and_predictions_have_pictures() -> None:
    result = run(2)
    truth = np.repeat([1.0, 2.0, 3.0], 5)
    tables = {
        "validation": {
            "rank": np.array([1.0, 2.0]),
            "rmse": np.array([0.9, 0.8]),
            "chosen": np.array([0.0, 1.0]),
        },
        "held-out predictions": calibration(truth, truth + 0.5),
    }
    shares: list[float] = []
    pictures = run_pictures(
        result.history, result.plan.network, result.bases, tables, watch=shares.append
    )
    assert list(pictures) == ["cost", "network", "validation", "predictions"]
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_nothing_is_written_unless_all_can_be(tmp_path: Path) -> None:
    result = run(2, gv.Gossip(max_iter=20))
    with pytest.raises(BasisError):
        write_run_pictures(tmp_path / "new", result.history, result.plan.network, [])
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="choose another folder"):
        write_run_pictures(tmp_path / "file", result.history, result.plan.network, result.bases)


@pytest.mark.parametrize("n_agents", [1, 3])
def test_an_exact_run_without_candidates_has_a_picture_of_its_training_error(n_agents: int) -> None:
    table = samples.ratings()
    method = BiasedFactorization(regularization=2.0)
    plan = gv.Plan(table.n_items, 2, gv.networks.path(n_agents), method)
    result = gv.run(plan, [gv.BiasedCompletionProblem(p) for p in split_users(table, n_agents)])
    truth = np.repeat([1.0, 2.0], 5)
    tables = {"held-out predictions": calibration(truth, truth + 0.5)}
    pictures = run_pictures(result.history, plan.network, result.bases, tables)
    assert list(pictures) == ["cost", "network", "error", "predictions"]
    assert _final_error(tables) == ("all held-out values at the end: 0.5", 0.5)
