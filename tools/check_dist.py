"""Check that a wheel and an sdist contain everything that they should, and nothing else.

Usage: python tools/check_dist.py WHEEL SDIST
"""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).parents[1]


def complaints(wheel: Path, sdist: Path) -> list[str]:
    """Return what is wrong with the two files."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    settings = tomllib.loads(text)
    project = settings["project"]
    stem = f"{project['name']}-{project['version']}"
    listed = subprocess.run(
        ["git", "ls-files", *settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = {"pyproject.toml", *listed.stdout.splitlines()}
    with tarfile.open(sdist) as archive:
        packed = {name.removeprefix(f"{stem}/") for name in archive.getnames()}
    wrong = difference(sdist, wanted, packed - {"PKG-INFO", ".gitignore"})

    modules = {path.removeprefix("src/") for path in wanted if path.startswith("src/")}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        info = f"{stem}.dist-info"
        about = message_from_bytes(archive.read(f"{info}/METADATA"))
    wrong += difference(wheel, modules, {n for n in names if not n.startswith(info)})
    if f"{info}/licenses/LICENSE" not in names:
        wrong.append(f"{wheel} has no licence.")
    if about["Version"] != project["version"]:
        wrong.append(f"{wheel} says version {about['Version']}, pyproject.toml another.")
    if not about.get_payload():
        wrong.append(f"{wheel} has no long description.")
    return wrong


def difference(where: Path, wanted: set[str], found: set[str]) -> list[str]:
    """Return a sentence for every file that is missing or too much."""
    return [f"{where} lacks {name}." for name in sorted(wanted - found)] + [
        f"{where} has {name}, which git does not know." for name in sorted(found - wanted)
    ]


if __name__ == "__main__":
    wrong = complaints(Path(sys.argv[1]), Path(sys.argv[2]))
    print("\n".join(wrong) or "wheel and sdist hold what they should")
    sys.exit(bool(wrong))
