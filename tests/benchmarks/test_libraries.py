"""How fits of libraries are compared at equal error, and how the guard compares ratios."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.guard import TOLERANCE, slower
from benchmarks.libraries import environments, page
from benchmarks.libraries.contest import Contender, cheapest, measure, pairs
from benchmarks.libraries.environments import Absent
from benchmarks.libraries.in_process import samples


def curve(*points: tuple[float, float]) -> dict[str, Any]:
    made = [{"passes": n, "cpu": c, "wall": c, "error": e} for n, (c, e) in enumerate(points)]
    return {"points": made, "megabytes": 100.0, "library": "made 1.0", "setting": {"strength": 2.0}}


CURVES = {
    "ours, a": curve((1.0, 0.9), (2.0, 0.8)),
    "ours, b": curve((1.5, 0.79), (9.0, 0.7)),
    "theirs": curve((2.0, 0.85), (4.0, 0.8), (8.0, 0.8)),
    "best": curve((3.0, 0.6)),
}


def test_costs_are_those_of_the_cheapest_fit_with_the_error_of_the_other() -> None:
    theirs, best = pairs(CURVES)
    assert theirs["theirs"] == "theirs" and theirs["their_cpu"] == 4.0
    assert theirs["ours"] == "ours, b" and theirs["our_cpu"] == 1.5
    assert best["ours"] is None and "our_cpu" not in best
    assert cheapest(CURVES["theirs"], 0.84) == CURVES["theirs"]["points"][1]
    assert cheapest(CURVES["theirs"], 0.5) is None


def test_the_page_says_where_ours_is_slower_or_not_as_good(tmp_path: Path) -> None:
    stamp = {"date": "2026-11-19", "machine": "some", "versions": "numpy 2"}
    result = {"curves": CURVES, "absent": {"x": "no wheel"}, "pairs": pairs(CURVES), **stamp}
    page.write(tmp_path / "speed.md", {"ratings": result})
    text = (tmp_path / "speed.md").read_text()
    assert "| made 1.0 | 0.8004 | 4.00 | 4.00 | 100 | b | 1.50 | 1.50 | 100 | 0.38 |" in text
    assert "Not measured yet: The paper's Case 1" in text
    assert "not reached" in text and "x is left out: no wheel" in text
    assert (tmp_path / "images" / page.PICTURE).is_file()


def test_a_library_that_cannot_be_installed_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    monkeypatch.setitem(environments.REQUIREMENTS, "broken", (str(tmp_path / "no-such-wheel.whl"),))
    contenders = {"broken": Contender("broken", [{}], (1,))}
    curves, absent = measure(contenders, tmp_path, lambda part, predicted: 0.0)
    assert not curves and "no-such-wheel" in absent["broken"]
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(Absent, match="no Java"):
        environments.interpreter("pyspark")


def test_the_guard_names_ratios_beyond_the_tolerance() -> None:
    found = {"a": 1.0 + 0.9 * TOLERANCE, "b": 1.0 + 1.1 * TOLERANCE, "new": 9.0}
    assert slower(found, {"a": 1.0, "b": 1.0}) == ["b"]


@pytest.mark.parametrize(
    ("spectrum", "n_strong"), [("20 strong directions", 20), ("no structure", 0)]
)
def test_samples_have_the_spectrum_of_their_name(spectrum: str, n_strong: int) -> None:
    values = np.linalg.svd(samples(spectrum, 2000, 100), compute_uv=False) ** 2 / 2000
    # Noise of 100 features and 2000 samples reaches (1 + √(1/20))² = 1.5.
    assert np.count_nonzero(values > 2.0) == n_strong
