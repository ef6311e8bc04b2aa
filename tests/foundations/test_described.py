"""Models, runs and histories describe themselves without their arrays."""

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from tests import samples

import grassvine as gv
from grassvine.foundations.described import Described, size_in_words

SVG = "http://www.w3.org/2000/svg"


def described() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    table = np.where(rng.random((30, 12)) < 0.6, rng.integers(1, 6, (30, 12)), np.nan)
    ratings = gv.MatrixCompleter(2, method="map", regularization=2.0).fit(table).model_
    features = rng.standard_normal((40, 5))
    tasks = gv.MultitaskRegressor(1, method="exact").fit(
        features, features[:, 0], tasks=np.arange(40) % 4
    )
    plan = gv.Plan(samples.N_ITEMS, 2, gv.networks.path(2))
    run = gv.run(plan, [gv.PCAProblem(x) for x in np.array_split(samples.samples(), 2)])
    return {
        "RatingsModel": ratings,
        "TasksModel": tasks.model_,
        "SubspaceModel": gv.DecentralizedPCA(2).fit(features).model_,
        "Run": run,
        "History": run.history,
    }


def test_every_description_is_one_line_and_a_table() -> None:
    for name, one in described().items():
        assert repr(one).startswith(f"<{name}: ") and "\n" not in repr(one)
        assert len(repr(one)) < 250 and "array" not in repr(one)
        page = one._repr_html_()
        HTMLParser().feed(page)
        assert page.startswith("<table>") and name in page
        assert page.count("<svg") == (name != "TasksModel") and "http" not in page.replace(SVG, "")


def test_what_a_model_holds_is_reported() -> None:
    found = described()
    assert "rank=2, items=12, users=30, ratings=" in repr(found["RatingsModel"])
    assert "rank=1, features=5, tasks=4, samples=40" in repr(found["TasksModel"])
    assert "components=2, features=5, explained_variance=" in repr(found["SubspaceModel"])
    assert "users=none (the private part is missing)" in repr(
        gv.models.RatingsModel(found["RatingsModel"].shared)
    )


def test_text_is_escaped_in_notebooks() -> None:
    class Hostile(Described):
        def _facts(self) -> dict[str, object]:
            return {"<b>": "<script>alert(1)</script>"}

    assert "<script>" not in Hostile()._repr_html_() and "<b>" not in Hostile()._repr_html_()


@pytest.mark.parametrize(
    ("n_bytes", "words"), [(12, "12 B"), (1200, "1.2 kB"), (3_400_000, "3.4 MB"), (2e9, "2.0 GB")]
)
def test_sizes_have_prefixes(n_bytes: int, words: str) -> None:
    assert size_in_words(n_bytes) == words
