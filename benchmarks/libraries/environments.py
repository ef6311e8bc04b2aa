"""Virtual environments of other libraries, made on demand in ``.venv-peers``."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-peers"
OURS = "grassvine"
# What each library is installed with; versions are those that its environment got, and printed.
REQUIREMENTS = {
    "cmfrec": ("cmfrec", "scipy", "threadpoolctl"),
    "implicit": ("implicit", "scipy"),
    "libmf": ("libmf", "numpy"),
    "scikit-surprise": ("scikit-surprise", "pandas"),
    "pyspark": ("pyspark", "numpy", "setuptools"),
}


class Absent(Exception):
    """A library cannot be used here; the message is the reason."""


def interpreter(library: str) -> Path:
    """Return the Python of a library's environment, which is made if need be."""
    if library == OURS:
        return Path(sys.executable)
    if library == "pyspark" and shutil.which("java") is None:
        raise Absent("there is no Java on this machine.")
    folder = FOLDER / library
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.is_file():
        _call([sys.executable, "-m", "venv", "--clear", str(folder)])
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        _call([*pip, *REQUIREMENTS[library]])
        done.touch()
    return python


def version(library: str) -> str:
    """Return the version that an environment has."""
    ask = f"from importlib.metadata import version; print(version({library!r}))"
    return _call([str(interpreter(library)), "-c", ask]).strip()


def _call(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        reason = next((line for line in reversed(lines) if "rror" in line), lines[-1:] or "?")
        raise Absent(f"`{' '.join(command[1:])}` failed: {reason}")
    return done.stdout
