import io
from pathlib import Path

import matplotlib as mpl
import matplotlib.image as images
import matplotlib.pyplot as plt
import numpy as np
import pytest
from tests import samples

import grassvine as gv
from grassvine.foundations.errors import BasisError, OutputError
from grassvine.report.run_pictures import run_pictures, write_run_pictures


def run(n_agents: int) -> gv.Run:
    parts = np.array_split(samples.samples(), n_agents)
    plan = gv.Plan(samples.N_ITEMS, 2, gv.networks.path(n_agents), gv.Exact())
    return gv.run(plan, [gv.PCAProblem(part) for part in parts])


def test_a_run_is_written_as_pictures_of_the_same_bytes_whatever_the_settings(
    tmp_path: Path,
) -> None:
    result = run(3)
    pictures = run_pictures(result.history, result.plan.network, result.bases)
    before = dict(mpl.rcParams)
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red"}):
        written = write_run_pictures(
            tmp_path / "new", result.history, result.plan.network, result.bases
        )
    assert dict(mpl.rcParams) == before and plt.get_fignums() == []
    assert [path.name for path in written] == [
        "cost.png",
        "agreement.png",
        "network.png",
        "angles.png",
    ]
    assert [path.read_bytes() for path in written] == list(pictures.values())
    assert all(
        images.imread(io.BytesIO(data)).shape[:2] == (600, 1080) for data in pictures.values()
    )


def test_one_agent_has_nobody_to_agree_with() -> None:
    result = run(1)
    assert list(run_pictures(result.history, result.plan.network, result.bases)) == [
        "cost",
        "network",
        "angles",
    ]


def test_nothing_is_written_unless_all_can_be(tmp_path: Path) -> None:
    result = run(2)
    with pytest.raises(BasisError):
        write_run_pictures(tmp_path / "new", result.history, result.plan.network, [])
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="choose another folder"):
        write_run_pictures(tmp_path / "file", result.history, result.plan.network, result.bases)
