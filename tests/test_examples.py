"""The scripts of examples/ run and print what their tutorials say."""

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
TUTORIALS = ROOT / "docs" / "tutorials"
NAMES = ("ratings", "clicks", "tasks", "pca", "own_problem", "own_network", "compare")
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?"
RELATIVE = 5e-2
ROUNDING = 1e-9
OPTIONAL = ("cmfrec",)  # takes a C compiler to install, so that most machines go without


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
        assert together < figure(text, f"{shop} alone:")
    assert len(re.findall(r"Mia\s+crime \d+", text)) == 3
    favourites = re.findall(r"person 1\s+(romance \d+)\s+[\d.]+\s+\d\s+True", text)
    assert len(favourites) == 3
    assert f"from the saved model: {', '.join(favourites)}\n" in text


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


def test_components_are_those_of_scikit_learn(printed: Callable[[str], str]) -> None:
    text = printed("pca")
    # Components are known to about the tolerance 1e-13 over the relative gap of the spectrum.
    assert figure(text, "an entry of the components:") < 1e-10
    assert figure(text, "exact:") < 1e-8
    assert figure(text, "gossip:") < 15 < 45 < figure(text, "each place alone:")
    assert figure(text, "from 16 components:") > 0.93
    holed = figure(text, "pixels missing:")
    assert holed < 0.7 * figure(text, "with means in their places:")
    assert figure(text, "error of the expected pixels:") < 0.7 * figure(text, "error of means:")


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
    lines = printed(name).splitlines()
    output = [line for line in output if not left_out(line, lines)]
    wrong = differences(output, lines)
    assert not wrong, "\n".join([f"{name}.md does not show what {name}.py prints:", *wrong])


def differences(shown: list[str], lines: list[str]) -> list[str]:
    """Tell which lines shown are not those printed: other words, or numbers too far away."""
    shown, lines = [line for line in shown if plain(line)], [line for line in lines if plain(line)]
    wrong = [
        f"  shown:   {one.strip()}\n  printed: {other.strip()}"
        for one, other in zip(shown, lines, strict=False)
        if plain(one) != plain(other)
        or not all(map(close, re.findall(NUMBER, one), re.findall(NUMBER, other)))
    ]
    if len(shown) != len(lines):
        wrong.append(f"  {len(shown)} lines are shown, {len(lines)} are printed")
    return wrong


def close(shown: str, printed: str) -> bool:
    """Tell whether a number is printed as shown, but for what another machine may change.

    Sums in another order change last digits, and an iteration that has not converged carries that
    further: 5 %, and one unit of the last digit for the rounding of what is printed. Whole numbers
    are counts, ranks and names, and have no such unit. Below 1e-9 all that a number says is that
    nothing is left but rounding.
    """
    wanted, found = float(shown), float(printed)
    return abs(found - wanted) <= RELATIVE * abs(wanted) + last_digit(shown) + ROUNDING


def last_digit(number: str) -> float:
    """Return the unit of the last digit of a printed number, 0 for a whole one."""
    digits, _, power = number.partition("e")
    if not power and "." not in digits:
        return 0.0
    return float(10.0 ** (int(power or 0) - len(digits.partition(".")[2])))


def left_out(line: str, lines: list[str]) -> bool:
    """Tell whether a line shown is one that a script prints only where an extra is installed."""
    return any(
        line.startswith(start) and not any(other.startswith(start) for other in lines)
        for start in OPTIONAL
    )


def plain(line: str) -> str:
    """Return a printed line without its numbers and spaces."""
    return re.sub(r"\s+", " ", re.sub(NUMBER, "#", line)).strip()


@pytest.mark.parametrize(
    ("shown", "same", "other"),
    [
        ("together: 0.57 stars", "together:  0.58 stars", "together: 0.62 stars"),
        ("explained 0.487", "explained 0.470", "explained 0.460"),
        ("explained -0.02", "explained -0.01", "explained 0.02"),
        ("67.0 degrees", "70.4 degrees", "70.6 degrees"),
        ("Mia crime 10 4.758", "Mia crime 10 4.6", "Mia crime 9 4.758"),
        ("84 slots", "84 slots", "90 slots"),
        ("rank 3", "rank 3", "rank 4"),
        ("error 4e-09", "error 5e-09", "error 6.5e-09"),
        ("error 9e-16", "error 0e+00", "error 2e-09"),
        ("error 5e-05", "error 6e-05", "error 5e-04"),
        ("5 degrees", "5 degrees", "nan degrees"),
        ("5 degrees", "5 degrees", "5 radians"),
    ],
)
def test_a_wrong_number_in_a_tutorial_is_seen(shown: str, same: str, other: str) -> None:
    assert not differences([shown], [same])
    assert differences([shown], [other])
    assert differences([shown, shown], [same, other])
    assert differences([shown], [same, same])


def test_a_wrong_number_on_a_true_page_is_seen(printed: Callable[[str], str]) -> None:
    lines = printed("tasks").splitlines()
    places = [(row, found) for row, line in enumerate(lines) for found in re.finditer(NUMBER, line)]
    assert len(places) >= 14
    for row, found in places:
        true = float(found[0])
        false = f"{true + max(0.2 * abs(true), 0.05):.8g}"  # beyond 5 % and the last digit
        line = lines[row][: found.start()] + false + lines[row][found.end() :]
        assert differences([*lines[:row], line, *lines[row + 1 :]], lines), line


def test_tutorials_are_listed_and_their_links_lead_somewhere() -> None:
    index = (TUTORIALS / "README.md").read_text()
    for name in NAMES:
        assert f"({name}.md)" in index and f"../../examples/{name}.py" in index
    assert "docs/tutorials/README.md" in (ROOT / "README.md").read_text()
    for page in TUTORIALS.glob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_three_clinics_end_with_the_subspace_of_one_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # the extra peers does not install it
    script = runpy.run_path(str(ROOT / "examples" / "three_clinics" / "run.py"))
    same, apart = script["main"](tmp_path)
    assert same
    assert apart < 1e-8  # what is promised; both take the same steps, so it is rounding
    assert not list(tmp_path.glob("clinic-[bc]/clinic-a.card"))
