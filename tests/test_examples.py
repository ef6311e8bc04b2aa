"""The examples of the gallery run and print the numbers that their words rest on."""

import contextlib
import io
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).parents[1]
NAMES = (
    "ratings",
    "owners",
    "clicks",
    "digits",
    "sensors",
    "tasks",
    "pca",
    "own_network",
    "bytes",
    "asynchronous",
    "own_problem",
    "losses",
    "compare",
)
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?"


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Run each script once, in an empty folder, and return what it prints."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    kept: dict[str, str] = {}

    def run(name: str) -> str:
        if name not in kept:
            text = io.StringIO()
            folder = tmp_path_factory.mktemp(name)
            with (
                contextlib.chdir(folder),
                contextlib.redirect_stdout(text),
                pytest.MonkeyPatch.context() as patch,
            ):
                patch.setattr(pyplot, "show", pyplot.close)  # there may be a screen
                runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
            kept[name] = text.getvalue()
        return kept[name]

    return run


def figure(text: str, after: str) -> float:
    """Return the first number behind some words."""
    found = re.search(rf"{re.escape(after)}\s*({NUMBER})", text)
    assert found, f"nothing is printed behind {after!r}"
    return float(found[1])


def test_shops_learn_more_together_and_know_a_new_person(printed: Callable[[str], str]) -> None:
    text = printed("ratings")
    together = figure(text, "all shops together:")
    # The noise is 0.4 and stars are rounded to halves: nobody can do better than 0.42.
    assert 0.42 < together < 0.6 * figure(text, "mean of each film:")
    for shop in ("north", "south", "west"):
        assert together < figure(text, f"{shop} alone:")
    assert len(re.findall(r"Mia\s+crime \d+", text)) == 3
    favourites = re.findall(r"person 1\s+(romance \d+)\s+[\d.]+\s+\d\s+True", text)
    assert len(favourites) == 3
    assert f"from the saved model: {', '.join(favourites)}\n" in text
    # 468 ratings: the share is known to .014 (one standard deviation).
    assert 0.86 < figure(text, "in their intervals:") < 0.94


def test_shops_recommend_more_together_than_alone(printed: Callable[[str], str]) -> None:
    text = printed("clicks")
    together = figure(text, "all shops together:")
    for shop in ("north", "south", "west"):
        assert together > figure(text, f"{shop} alone:") > figure(text, "the most clicked:")
    assert "the shares add up to the score: True" in text
    assert len(re.findall(r"poetry \d+", text.split("next to the new book:")[1])) == 3
    assert figure(text, "ease, 1 sum:") > figure(text, "the most clicked:")


def test_schools_predict_better_together(printed: Callable[[str], str]) -> None:
    text = printed("tasks")
    together, alone = figure(text, "schools together"), figure(text, "each school alone")
    assert figure(text, "one regression for all") < 0.2 < alone < together - 0.05
    assert together > 0.9
    assert figure(text, "folded in") > figure(text, "by itself") + 0.2
    assert 0.87 < figure(text, "90 % interval:") < 0.94
    assert figure(text, "schools agree to") < 1e-9
    assert figure(text, "schools that gain:") > 0.8


def test_components_are_those_of_scikit_learn(printed: Callable[[str], str]) -> None:
    text = printed("pca")
    # Components are known to about the tolerance 1e-13 over the relative gap of the spectrum.
    assert figure(text, "an entry of the components:") < 1e-10
    assert figure(text, "exact:") < 1e-8
    assert figure(text, "gossip:") < 15 < 25 < figure(text, "each clinic alone:")
    assert figure(text, "from 5 components:") > 0.93
    assert figure(text, "benign in the first clinic:") > 0.9 > figure(text, "in the last:")


def test_an_own_cost_is_checked_and_resists_outliers(printed: Callable[[str], str]) -> None:
    text = printed("own_problem")
    assert "the check of the robust cost passes" in text
    assert figure(text, "the Taylor slope is") == pytest.approx(1.0, abs=0.1)
    assert figure(text, "robust cost:") < 4 < 45 < figure(text, "principal components:")
    assert figure(text, "neighbours end") < 1.5


def test_a_network_changes_slots_but_not_what_is_exact(printed: Callable[[str], str]) -> None:
    text = printed("own_network")
    assert "8 agents, 13 links, diameter 3, spectral gap 0.07" in text
    row = re.compile(
        rf"(exact|gossip, ρ=\d+)\s+(path|two towns|more lines|all)\s+({NUMBER})\s+(\d+)\s+(\d+)"
        rf"\s+({NUMBER})\s+({NUMBER})"
    )
    rows = {(m, n): tuple(map(float, rest)) for m, n, *rest in row.findall(text)}
    assert len(rows) == 12
    exact = {name: values for (method, name), values in rows.items() if method == "exact"}
    gaps, slots, kilobytes, errors, degrees = zip(*exact.values(), strict=True)
    assert gaps == tuple(sorted(gaps))
    assert slots[0] > slots[1] == slots[2] > slots[3]
    assert len(set(kilobytes)) == 1
    assert max(errors) < 1e-10 and max(degrees) < 1e-9
    assert rows["gossip, ρ=100", "all"][3] < 1e-10 < 0.01 < rows["gossip, ρ=100", "path"][3]
    assert max(rows["gossip, ρ=1000", name][3] for name in exact) < 1e-3


def test_all_methods_beat_item_means_and_exact_beats_all_of_ours(
    printed: Callable[[str], str],
) -> None:
    text = printed("compare")
    names = ("exact-subspace", "gossip", "D-LMaFit", "RTRMC, one owner")
    errors = {name: figure(text, f"\n{name}") for name in names}
    exact = max(figure(text, "\nbayes "), figure(text, "\nmap "))
    # The noise is 0.3 and stars are rounded to halves: nobody can do better than 0.33.
    assert 0.33 < exact < min(errors.values())
    assert max(errors.values()) < 0.75 * figure(text, "\nitem means")


def test_small_owners_gain_most_and_none_loses(printed: Callable[[str], str]) -> None:
    text = printed("owners")
    smallest, largest = figure(text, "the smallest shop gains"), figure(text, "the largest")
    assert smallest > 0.5 > 0.1 > largest > -0.02  # measured .61 and .02


def test_all_places_fill_holes_that_one_cannot(printed: Callable[[str], str]) -> None:
    text = printed("digits")
    together, alone = figure(text, "error of all places:"), figure(text, "error of place 0 alone:")
    assert together < 0.7 * min(alone, figure(text, "error of means:"))


def test_gaps_are_filled_almost_to_the_noise(printed: Callable[[str], str]) -> None:
    text = printed("sensors")
    # The noise is 0.3 degrees; eighteen hours of a day determine its three numbers well.
    assert 0.28 < figure(text, "error of together:") < 0.4
    assert figure(text, "error of straight line:") > 1.0


def test_the_exact_method_sends_the_fewest_bytes(printed: Callable[[str], str]) -> None:
    text = printed("bytes")
    lines = {line.split(":")[0]: line for line in text.splitlines()}
    needed = {name: figure(line, "below 1e-8 after") for name, line in lines.items()}
    assert set(needed) == {"gossip, ρ=1000", "averaging (Tracked)", "exact"}
    assert needed["exact"] < needed["gossip, ρ=1000"] < needed["averaging (Tracked)"]
    assert all(figure(line, "error") < 2e-12 for line in lines.values())


def test_own_clocks_change_updates_but_not_the_result(printed: Callable[[str], str]) -> None:
    text = printed("asynchronous")
    found = re.findall(rf": (\d+) to (\d+) updates per agent, error ({NUMBER})", text)
    assert len(found) == 3
    (_, _, common), (_, _, own), (fewest, most, slow) = found
    assert max(float(common), float(own), float(slow)) < 2e-12
    assert int(fewest) < 0.6 * int(most)
    assert "the same bits from the record: True" in text


def test_lost_agents_are_restored_to_the_same_bits(printed: Callable[[str], str]) -> None:
    text = printed("losses")
    assert "exact: 4 losses, the same bits: True" in text
    assert "gossip: 4 losses, the same bits: True" in text


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_words_on_what_to_see(name: str) -> None:
    script = (ROOT / "examples" / f"{name}.py").read_text()
    figures = script.split("plt.show()\n")[1:]
    assert figures
    for after in figures:
        words = after.split("# %%\n")[1]
        assert words.startswith("# **What to see.** "), f"{name} does not say what a figure shows"


def test_the_gallery_has_a_place_for_every_example() -> None:
    gallery = runpy.run_path(str(ROOT / "docs" / "_extensions" / "gallery_limits.py"))
    scripts = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert set(gallery["ORDER"]) == scripts == set(NAMES)
    assert len(NAMES) >= 12


def test_three_clinics_end_with_the_subspace_of_one_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # the extra peers does not install it
    script = runpy.run_path(str(ROOT / "examples" / "three_clinics" / "run.py"))
    same, apart = script["main"](tmp_path)
    assert same
    assert apart < 1e-8  # what is promised; both take the same steps, so it is rounding
    assert not list(tmp_path.glob("clinic-[bc]/clinic-a.card"))
