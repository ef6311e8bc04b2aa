import doctest
import re
import subprocess
import sys
from pathlib import Path

import grassvine

ROOT = Path(__file__).parents[1]


NAMES = [
    "AgentError",
    "BasisError",
    "BiasedCompletionProblem",
    "CheckFailed",
    "CheckpointError",
    "CompletionProblem",
    "ConvergenceWarning",
    "CustomProblem",
    "DataError",
    "DecentralizedPCA",
    "EarlyStop",
    "Exact",
    "Gossip",
    "GrassvineError",
    "History",
    "ImplicitProblem",
    "ImplicitRecommender",
    "InputError",
    "LocalEngine",
    "MatrixCompleter",
    "MessageError",
    "MissingExtra",
    "ModelError",
    "MultitaskProblem",
    "MultitaskRegressor",
    "NetworkError",
    "OutputError",
    "PCAProblem",
    "Plan",
    "PlanError",
    "RatingDataset",
    "Ratings",
    "RayEngine",
    "Run",
    "StepSize",
    "Tasks",
    "ThreadsEngine",
    "UnknownIdWarning",
    "averaging",
    "baselines",
    "checks",
    "datasets",
    "engines",
    "geometry",
    "gossip",
    "load",
    "metrics",
    "models",
    "networks",
    "problems",
    "protocol",
    "report",
    "run",
    "save",
    "sums",
]


def test_the_public_names_are_exactly_these() -> None:
    assert sorted(grassvine.__all__) == NAMES
    for name in grassvine.__all__:
        assert getattr(grassvine, name).__doc__


def test_the_example_in_the_package_runs() -> None:
    assert doctest.testmod(grassvine).failed == 0


def test_importing_is_light() -> None:
    heavy = ("numba", "sklearn", "matplotlib", "scipy", "pandas", "rich", "networkx")
    code = f"import grassvine, sys; print([m for m in {heavy} if m in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert printed.stdout == "[]\n", printed.stderr


def test_the_version_is_the_project_s() -> None:
    wanted = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert wanted and grassvine.__version__ == wanted[1]


def test_constraints_are_names_and_versions_only() -> None:
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line), line


def test_nothing_is_loaded_that_could_run_code() -> None:
    unsafe = re.compile(r"\b(pickle|joblib|yaml)\b|allow_pickle|\beval\(|\bexec\(|shell=True")
    paths = list(Path(grassvine.__file__).parent.rglob("*.py"))
    assert paths
    for path in paths:
        assert not unsafe.search(path.read_text()), path


def test_the_python_in_the_readme_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert blocks
    ratings = ratings_of_shops()
    (tmp_path / "ratings.csv").write_text(ratings)
    clicks = [
        ",".join([user, item, shop])
        for user, item, _, shop in (row.split(",") for row in ratings.split("\n"))
    ]
    (tmp_path / "clicks.csv").write_text("\n".join(clicks))
    for block in blocks:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", block],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def ratings_of_shops() -> str:
    """A table as the README supposes it: half of all pairs of 60 people and 20 films."""
    rows = [
        f"person {user},film {item},{1 + (user * item) % 5},{('north', 'south')[user % 2]}"
        for user in range(60)
        for item in range(20)
        if (user + item) % 2
    ]
    return "\n".join(["user,item,rating,shop", *rows])
