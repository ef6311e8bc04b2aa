import numpy as np

from grassvine.report.displays.predictions import MAX_LEVELS, N_BINS, calibration


def test_few_levels_are_kept_and_many_values_are_binned() -> None:
    stars = np.repeat([1.0, 2.0, 3.0], [5, 1, 4])
    found = calibration(stars, stars + 0.5)
    assert found["truth"].tolist() == [1.0, 2.0, 3.0] and found["count"].tolist() == [5, 1, 4]
    np.testing.assert_allclose(found["squared_error"], 0.25 * found["count"])
    np.testing.assert_allclose(found["q50"], found["truth"] + 0.5)
    many = np.linspace(-1.0, 1.0, 50 * MAX_LEVELS)
    binned = calibration(many, many)
    assert len(binned["truth"]) == N_BINS and binned["count"].sum() == len(many)
    assert (binned["q5"] <= binned["q50"]).all() and (binned["q50"] <= binned["q95"]).all()
