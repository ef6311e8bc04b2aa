"""Runs saved as folders, and their repetition.

::

    run.json             command, options (with random seeds), report, versions, hashes
    plan.toml            the plan of the agents: network, method, seed
    history.safetensors  every step of every agent
    bases.safetensors    the basis of each agent
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, Option, OutputError, unknown
from grassvine.foundations.files import exists
from grassvine.jobs.base import Job, JobResult
from grassvine.jobs.completion import CompletionJob
from grassvine.jobs.multitask import MultitaskJob
from grassvine.jobs.pca import PCAJob
from grassvine.models.persistence.folder import write_folder
from grassvine.models.persistence.forms import form_of
from grassvine.models.persistence.tensors import write_tensors
from grassvine.protocol import History
from grassvine.runs import Plan

FORMAT = "grassvine run 1"
RECORD, PLAN = "run.json", "plan.toml"
HISTORY, BASES = "history.safetensors", "bases.safetensors"
FILES = {RECORD, PLAN, HISTORY, BASES}
KEYS = {"format", "command", "options", "report", "hashes", "versions"}
VERSIONS = ("grassvine", "numpy", "numba", "polars", "scikit-learn", "scipy")

JOBS: Mapping[str, type] = {
    "complete": CompletionJob,
    "multitask": MultitaskJob,
    "pca": PCAJob,
}


@dataclass(frozen=True, slots=True, eq=False)
class SavedRun:
    """A run loaded from its folder."""

    command: str
    job: Any
    report: dict[str, Any]
    plan: Plan
    data_hash: str
    result_hash: str
    versions: dict[str, str]
    history: History
    bases: tuple[Array, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Rerun:
    """A repeated run: its result, and whether that is the same to the last bit."""

    result: JobResult
    same: bool
    other_versions: dict[str, tuple[str, str]]


def refuse_folder(path: str | os.PathLike[str], *, overwrite: bool) -> bool:
    """Return whether the target exists; raise if it may not be replaced."""
    target = Path(path)
    if not os.path.lexists(target):
        return False
    if target.is_symlink() or not target.is_dir():
        raise OutputError(f"{target} already exists and is not a folder; choose another path.")
    inside = {entry.name for entry in target.iterdir()}
    if inside - FILES or (inside and RECORD not in inside):
        unexpected = sorted(inside - FILES or inside)[0]
        raise OutputError(
            f"{target} already exists and contains {unexpected}, which is not part of a run; "
            "choose another path."
        )
    if inside and not overwrite:
        raise exists(target)
    return True


def save_run(
    path: str | os.PathLike[str], job: Job, result: JobResult, *, overwrite: bool = False
) -> Path:
    """Save a run as a folder, atomically."""
    target = Path(os.path.abspath(path))
    replaces = refuse_folder(target, overwrite=overwrite)
    command = next(name for name, kind in JOBS.items() if isinstance(job, kind))
    options = asdict(job)  # type: ignore[call-overload]
    if Path(job.data).exists():
        options["data"] = os.path.abspath(job.data)
    record = {
        "format": FORMAT,
        "command": command,
        "options": options,
        "report": result.report,
        "hashes": {"data": result.data_hash, "result": result_hash(result)},
        "versions": versions(),
    }
    bases = {f"agent {k}": basis for k, basis in enumerate(result.estimator.subspaces_)}
    files = {
        RECORD: (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode(),
        PLAN: result.estimator.plan_.to_toml().encode(),
        HISTORY: result.estimator.history_.to_bytes(),
        BASES: write_tensors(bases),
    }
    write_folder(target, files, (), replace=replaces)
    return target


def load_run(path: str | os.PathLike[str]) -> SavedRun:
    """Load a run written by :func:`save_run`."""
    folder = Path(path)
    record = _record(folder)
    kind = JOBS[record["command"]]
    known = {field.name for field in fields(kind)}
    if unexpected := sorted(set(record["options"]) - known):
        raise DataError(f"{folder / RECORD}: {unknown('option', unexpected[0], known)}")
    try:
        return SavedRun(
            command=record["command"],
            job=kind(**record["options"]),
            report=dict(record["report"]),
            plan=_plan(folder / PLAN),
            data_hash=str(record["hashes"]["data"]),
            result_hash=str(record["hashes"]["result"]),
            versions=dict(record["versions"]),
            history=History.load(folder / HISTORY),
            bases=_bases(folder / BASES),
        )
    except (KeyError, TypeError, AttributeError) as cause:
        raise DataError(
            f"{folder / RECORD} was modified ({type(cause).__name__}: {cause}); use a folder "
            "written by --run."
        ) from None


def rerun(run: SavedRun, data: str | None = None) -> Rerun:
    """Repeat a run; ``data`` may name a copy of its data.

    The run starts from the beginning: checkpoints are neither read nor written.
    """
    job = replace(run.job, checkpoints=None, resume=False)
    if data is not None:
        job = replace(job, data=data)
    if job.data == "-" and data is None:
        raise DataError(
            "the run read standard input; use ", Option("data", "FILE"), " with the same data."
        )
    given = job.read()
    digest = job.hash(given)
    if digest != run.data_hash:
        raise DataError(
            f"{job.data} differs from the data of the run: its hash is {digest[:12]}…, not "
            f"{run.data_hash[:12]}…; use ",
            Option("data", "FILE"),
            " with the same data.",
        )
    result = job.learn(given)
    now = versions()
    others = {
        name: (before, now[name])
        for name, before in run.versions.items()
        if name in now and now[name] != before
    }
    return Rerun(result, result_hash(result) == run.result_hash, others)


def result_hash(result: JobResult) -> str:
    """Return the SHA-256 of the history and of all numbers of the model."""
    digest = hashlib.sha256(result.estimator.history_.to_bytes())
    for part in form_of(result.model).split(result.model):
        if part is not None:
            digest.update(json.dumps(dict(part.numbers), sort_keys=True).encode())
            digest.update(write_tensors(part.arrays))
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of packages on which the bits of a result may depend."""
    return {name: version(name) for name in VERSIONS}


def _record(folder: Path) -> dict[str, Any]:
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(
            f"{folder} contains no {RECORD}; use a folder written by 'grassvine complete --run'."
        ) from None
    except (OSError, ValueError) as cause:
        raise DataError(f"{folder / RECORD} cannot be read ({cause}).") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT or set(record) != KEYS:
        raise DataError(
            f"{folder / RECORD} is not in the format '{FORMAT}'; use a folder written by --run."
        )
    if record["command"] not in JOBS or not isinstance(record["options"], dict):
        raise DataError(f"{folder / RECORD} was modified; use a folder written by --run.")
    return record


def _plan(path: Path) -> Plan:
    try:
        return Plan.from_toml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        raise DataError(
            f"{path} is not a valid plan ({cause}); use a folder written by --run."
        ) from None


def _bases(path: Path) -> tuple[Array, ...]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(path.read_bytes())
        return tuple(np.ascontiguousarray(arrays[f"agent {agent}"]) for agent in range(len(arrays)))
    except (OSError, SafetensorError, KeyError) as cause:
        raise DataError(
            f"{path} contains no valid bases ({cause}); use a folder written by --run."
        ) from None
