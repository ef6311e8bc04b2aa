import importlib.util
from pathlib import Path

import numpy as np
import pytest
from tests.cli.commands import Command

from grassvine.cli.compare import _show
from grassvine.foundations.errors import MissingExtra
from grassvine.jobs import compared_methods


def test_methods_stand_side_by_side(grassvine: Command, ratings: Path) -> None:
    options = ("--methods", "bayes,rtrmc,item-means", "--splits", 3, "--rank", 2, "--agents", 2)
    found = grassvine("compare", ratings, *options, "--json").object
    rows = {row["method"]: row for row in found["methods"]}
    assert list(rows) == ["bayes", "rtrmc", "item-means"]
    for row in rows.values():
        assert row["rmse_mean"] == pytest.approx(np.mean(row["rmse"]))
        assert row["mae_sd"] == pytest.approx(np.std(row["mae"], ddof=1))
        assert len(row["rmse"]) == 3
    assert rows["bayes"]["rmse_p"] is None
    assert 0.0 <= rows["item-means"]["rmse_p"] <= 1.0
    assert found["n_test"] == 3 * 64 and found["not_installed"] == {}
    shown = grassvine("compare", ratings, "--methods", "item-means,bayes", "--splits", 1).out
    assert "item-means" in shown and "RMSE" in shown


def test_biases_are_a_rival(grassvine: Command, ratings: Path) -> None:
    options = ("--splits", 2, "--rank", 2, "--agents", 2, "--json")
    found = grassvine("compare", ratings, "--methods", "biases,item-means", *options)
    biases, means = found.object["methods"]
    assert [biases["method"], means["method"]] == ["biases", "item-means"]
    # The same model as --rank 0 of method map, whatever the rank of the others.
    ours = grassvine("compare", ratings, "--methods", "map", "--splits", 2, "--rank", 0, "--json")
    assert biases["rmse"] == pytest.approx(ours.object["methods"][0]["rmse"], rel=1e-12)
    assert biases["rmse"] != means["rmse"]


def test_the_table_is_plain_and_fits_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = {"rmse_mean": 15.90712, "rmse_sd": 0.10312, "rmse_p": 2.1e-12, "mae_mean": 0.70412}
    rest = {"mae_sd": 0.00412, "mae_p": 0.04, "seconds": 1234.5, "cpu_seconds": 1234.5}
    _show([{"method": "precon-stochastic", **numbers, **rest}] * 2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and {len(line) for line in lines} == {len(lines[0])}
    assert len(lines[0]) <= 80 and not set("".join(lines)) & set("│┃─━┏└")


def test_a_peer_that_is_not_installed_is_named(
    grassvine: Command, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*_: object) -> None:
        raise MissingExtra("the method cmfrec", "compare")

    monkeypatch.setattr(compared_methods, "load_extra", absent)
    options = ("--methods", "item-means,cmfrec", "--splits", 2, "--json")
    done = grassvine("compare", ratings, *options)
    assert "cmfrec was not run" in done.err and "pip install 'grassvine[compare]'" in done.err
    assert list(done.object["not_installed"]) == ["cmfrec"]
    assert [row["method"] for row in done.object["methods"]] == ["item-means"]


@pytest.mark.skipif(importlib.util.find_spec("cmfrec") is None, reason="cmfrec is not installed")
def test_cmfrec_predicts_ratings(grassvine: Command, ratings: Path) -> None:
    options = ("--methods", "item-means,cmfrec", "--splits", 1, "--rank", 2, "--json")
    rows = grassvine("compare", ratings, *options).object["methods"]
    assert rows[1]["method"] == "cmfrec" and 0.0 < rows[1]["rmse_mean"] < 3.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "bayes,itemmeans"], "unknown method 'itemmeans'; did you mean 'item-means'"),
        (["--methods", "bayes,bayes"], "name each method once"),
        (["--splits", "0"], "splits is 0; choose a number of at least 1."),
        (["--holdout", "0"], "a comparison needs held-out ratings"),
    ],
)
def test_a_wrong_option_is_a_sentence(
    grassvine: Command, ratings: Path, options: list[str], message: str
) -> None:
    done = grassvine("compare", ratings, *options)
    assert (done.code, done.out) == (3, "") and message in done.err
