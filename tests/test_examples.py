"""The scripts of examples/ run and print what their tutorials say."""

import contextlib
import io
import re
import runpy
from collections.abc import Callable
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
NAMES = ("ratings", "tasks", "pca", "own_problem", "own_network", "compare")
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?"


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Run each script once, in an empty folder, and return what it prints."""
    matplotlib.use("Agg")
    kept: dict[str, str] = {}

    def run(name: str) -> str:
        if name not in kept:
            text = io.StringIO()
            folder = tmp_path_factory.mktemp(name)
            with contextlib.chdir(folder), contextlib.redirect_stdout(text):
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
        assert together < figure(text, f"{shop} for itself:")
    assert len(re.findall(r"Mia\s+crime \d+", text)) == 3
    favourites = re.findall(r"person 1\s+(romance \d+)\s+[\d.]+\s+\d\s+True", text)
    assert len(favourites) == 3
    assert f"from the saved model: {', '.join(favourites)}\n" in text


def test_schools_predict_better_together(printed: Callable[[str], str]) -> None:
    text = printed("tasks")
    together, alone = figure(text, "schools together"), figure(text, "each school for itself")
    assert figure(text, "one regression for all") < 0.2 < alone < together - 0.05
    assert together > 0.9
    assert figure(text, "folded in") > figure(text, "by itself") + 0.2
    assert figure(text, "schools agree to") < 1e-9


def test_components_are_those_of_scikit_learn(printed: Callable[[str], str]) -> None:
    text = printed("pca")
    # Components are known to about the tolerance 1e-13 over the relative gap of the spectrum.
    assert figure(text, "an entry of the components:") < 1e-10
    assert figure(text, "exact:") < 1e-8
    assert figure(text, "gossip:") < 15 < 45 < figure(text, "each place for itself:")
    assert figure(text, "from 16 components:") > 0.93


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
    exact = figure(text, "\nexact ")
    # The noise is 0.3 and stars are rounded to halves: nobody can do better than 0.33.
    assert 0.33 < exact < min(errors.values())
    assert max(errors.values()) < 0.75 * figure(text, "\nitem means")


@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_shows_its_script_and_what_that_prints(
    name: str, printed: Callable[[str], str]
) -> None:
    page = (TUTORIALS / f"{name}.md").read_text()
    script = (ROOT / "examples" / f"{name}.py").read_text()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.M | re.S)
    code = [text for kind, text in blocks if kind == "python"]
    output = [line for kind, text in blocks if kind == "text" for line in text.splitlines()]
    assert code and output
    for text in code:
        assert text in script, f"{name}.md shows code that is not in {name}.py:\n{text}"
    lines = {plain(line) for line in printed(name).splitlines()}
    for line in output:
        # Last digits are the machine's, and cmfrec need not be installed.
        assert plain(line) in lines or line.startswith("cmfrec"), line


def plain(line: str) -> str:
    """Return a printed line without its numbers and spaces."""
    return re.sub(r"\s+", " ", re.sub(NUMBER, "#", line)).strip()


def test_tutorials_are_listed_and_their_links_lead_somewhere() -> None:
    index = (TUTORIALS / "README.md").read_text()
    for name in NAMES:
        assert f"({name}.md)" in index and f"../../examples/{name}.py" in index
    assert "docs/tutorials/README.md" in (ROOT / "README.md").read_text()
    for page in TUTORIALS.glob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"
