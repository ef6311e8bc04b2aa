"""Every public name has a docstring with an example that runs."""

import doctest
import inspect
import runpy
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).parents[1]
PAGES = runpy.run_path(str(ROOT / "docs" / "_extensions" / "public_names.py"))
OBJECTS = {
    f"{module}.{name}": value
    for module, names in PAGES["public_names"]().items()
    for name, value in names.items()
    if PAGES["is_documented"](value)
}
ON_RAY = {
    "grassvine.RayEngine",
    "grassvine.engines.FromObjectStore",
    "grassvine.engines.ray_cluster",
}
NEEDS = {"grassvine.networks.from_networkx": "networkx"}


def examples(value: object) -> Iterator[doctest.DocTest]:
    """Return the examples in the docstring of an object, not in those of its methods."""
    return iter(doctest.DocTestFinder(recurse=False).find(value, name="example"))


def test_the_modules_are_those_of_the_package() -> None:
    import grassvine

    exported = {
        f"grassvine.{name}"
        for name in grassvine.__all__
        if inspect.ismodule(getattr(grassvine, name))
    }
    assert exported <= {"grassvine.report", *PAGES["MODULES"]}
    assert len(OBJECTS) > 150


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.cluster if n in ON_RAY else ()) for n in OBJECTS]
)
def test_the_example_of_a_public_name_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in NEEDS and not find_spec(NEEDS[name]):
        pytest.skip(f"{NEEDS[name]} is not installed")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    docstring = inspect.getdoc(OBJECTS[name]) or ""
    assert "Examples\n--------\n" in docstring, f"{name} has no section of examples"
    found = [test for test in examples(OBJECTS[name]) if test.examples]
    assert found, f"{name} has no example"
    for test in found:
        result = doctest.DocTestRunner().run(test)
        assert result.attempted and not result.failed
    from matplotlib import pyplot

    pyplot.close("all")
