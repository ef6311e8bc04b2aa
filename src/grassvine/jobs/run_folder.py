"""Runs saved as folders.

::

    run.json             command, options (with random seeds), report, versions, hashes
    plan.toml            the plan of the agents: network, method, seed
    history.safetensors  every step of every agent
    bases.safetensors    the basis of each agent
    tables.safetensors   candidates validated and a summary of the predictions, for pictures
    progress.jsonl       events of the run, written as it goes on; the others follow at its end
"""

import hashlib
import json
import os
import platform
import re
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from grassvine.foundations.errors import OutputError
from grassvine.foundations.files import exists
from grassvine.foundations.folders import located, write_folder
from grassvine.jobs.base import Job, JobResult
from grassvine.models.persistence.forms import form_of
from grassvine.models.persistence.tensors import write_tensors
from grassvine.runs.progress import FILE as PROGRESS
from grassvine.runs.progress import ProgressReader

FORMAT = "grassvine run 2"
RECORD, PLAN = "run.json", "plan.toml"
HISTORY, BASES = "history.safetensors", "bases.safetensors"
TABLES = "tables.safetensors"
FILES = {RECORD, PLAN, HISTORY, BASES, TABLES, PROGRESS}
VERSIONS = ("grassvine", "numpy", "numba", "polars", "scikit-learn", "scipy")
_PARTIAL = re.compile(rf"\.{re.escape(PROGRESS)}\.[0-9a-f]{{32}}\.partial")


def refuse_folder(path: str | os.PathLike[str], *, overwrite: bool) -> bool:
    """Return whether the target exists; raise if it may not be replaced."""
    target = located(Path(path))
    if not os.path.lexists(target):
        return False
    if target.is_symlink() or not target.is_dir():
        raise OutputError(f"{target} already exists and is not a folder; choose another path.")
    inside = {entry.name for entry in target.iterdir() if not _PARTIAL.fullmatch(entry.name)}
    _refuse_running(target)
    if inside == {PROGRESS}:  # of a run that did not reach its end
        return True
    if inside - FILES or (inside and RECORD not in inside):
        unexpected = sorted(inside - FILES or inside)[0]
        raise OutputError(
            f"{target} already exists and contains {unexpected}, which is not part of a run; "
            "choose another path."
        )
    if inside and not overwrite:
        raise exists(target)
    return True


def _refuse_running(folder: Path) -> None:
    """Refuse a folder in which another process writes the progress of a run."""
    reader = ProgressReader(folder / PROGRESS)
    reader.poll()
    begin = reader.progress.begin
    if begin is None or reader.progress.state() != "running" or begin.host != platform.node():
        return
    if begin.pid != os.getpid():
        raise OutputError(
            f"a run goes on in {folder} (process {begin.pid}); wait for its end, or choose another "
            "path."
        )


def save_run(
    path: str | os.PathLike[str],
    job: Job,
    result: JobResult,
    *,
    overwrite: bool = False,
    progress: bytes | None = None,
) -> Path:
    """Save a run as a folder, atomically; ``progress`` are the events that were written so far."""
    target = Path(os.path.abspath(path))
    refuse_folder(target, overwrite=overwrite)
    options = asdict(job)  # type: ignore[call-overload]
    if Path(job.data).exists():
        options["data"] = os.path.abspath(job.data)
    record = {
        "format": FORMAT,
        "command": job.command,
        "options": options,
        "report": result.report,
        "hashes": {"data": result.data_hash, "result": result_hash(result)},
        "versions": versions(),
    }
    bases = {f"agent {k}": basis for k, basis in enumerate(result.run.bases)}
    files = {
        RECORD: (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode(),
        PLAN: result.run.plan.to_toml().encode(),
        HISTORY: result.run.history.to_bytes(),
        BASES: write_tensors(bases),
        TABLES: write_tensors(
            {
                f"{name}/{column}": array
                for name, table in result.tables.items()
                for column, array in table.items()
            }
        ),
    }
    if progress is not None:
        files[PROGRESS] = progress
    write_folder(target, files, (), lambda: refuse_folder(target, overwrite=overwrite))
    return target


def result_hash(result: JobResult) -> str:
    """Return the SHA-256 of the history and of all numbers of the model."""
    digest = hashlib.sha256(result.run.history.to_bytes())
    for part in form_of(result.model).split(result.model):
        if part is not None:
            digest.update(json.dumps(dict(part.numbers), sort_keys=True).encode())
            digest.update(write_tensors(part.arrays))
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of packages on which the bits of a result may depend."""
    return {name: version(name) for name in VERSIONS}
