"""Steps shared by the commands that fit: read, fit, save, report."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from grassvine.cli.output import print_messages, print_object, print_rows
from grassvine.cli.watch import live_page, require_live
from grassvine.foundations.errors import PlanError

if TYPE_CHECKING:
    from grassvine.jobs.base import Job
    from grassvine.runs.progress import ProgressWriter

# A shared model must not reveal paths or hosts, and resuming does not change the result.
NOT_IN_CARD = ("data", "address", "checkpoints", "resume")


def run_job(
    title: str,
    job: "Job",
    *,
    out: Path | None,
    run: Path | None,
    live: bool,
    overwrite: bool,
    as_json: bool,
    shared_only: bool = False,
) -> None:
    """Run a job and report. Output paths are checked before the fit starts.

    The progress of a run that is saved is in its folder from the beginning; a live page of another
    one follows a temporary folder.
    """
    from grassvine.foundations.files import make_folder
    from grassvine.jobs.run_folder import refuse_folder, save_run
    from grassvine.models.persistence.files import may_replace, save
    from grassvine.report.progress import ProgressBar

    if live:
        require_live()
    if shared_only and out is None:
        raise PlanError("--shared-only saves a part of the model; add -o FOLDER.")
    if out is not None:
        may_replace(out, overwrite)
        make_folder(out.absolute().parent)
    if run is not None:
        refuse_folder(run, overwrite=overwrite)
        make_folder(run.absolute().parent)
    with ProgressBar("reading", passing=True) as bar:
        data = job.read(bar.update)
    print_messages(data.assumed)
    try:
        with watched(run, live) as writer, ProgressBar("fitting", passing=True) as bar:
            result = job.learn(data, (bar,) if writer is None else (bar, writer))
            if writer is not None:
                writer.end("finished", result.report["stop_reason"], result.report)
    except (KeyboardInterrupt, SystemExit):  # SystemExit: terminated by SIGTERM
        if job.checkpoints:
            print_messages(
                [f"stopped; use --resume to continue from the checkpoints in {job.checkpoints}"]
            )
        raise
    if out is not None:
        options = asdict(job)  # type: ignore[call-overload]
        parameters = {name: value for name, value in options.items() if name not in NOT_IN_CARD}
        model, card = result.model, result.card(title, parameters)
        save(model, out, card, private=not shared_only, overwrite=overwrite)
        print_messages([f"model: {out}{_holdout_note(result.report)}"])
    if run is not None:
        assert writer is not None
        save_run(run, job, result, overwrite=overwrite, progress=writer.log.content())
        print_messages([f"run: {run}"])
    print_report(result.report, as_json)


@contextmanager
def watched(run: Path | None, live: bool) -> "Iterator[ProgressWriter | None]":
    """Return what writes the progress of a run, if it is saved or shown on a live page."""
    from grassvine.foundations.folders import located
    from grassvine.runs.progress import ProgressWriter

    if run is None and not live:
        yield None
        return
    with TemporaryDirectory(prefix="grassvine-") as temporary:
        folder = Path(temporary) / "run" if run is None else located(run)
        with live_page(folder, wanted=live):
            yield ProgressWriter(folder)


def print_report(report: dict[str, Any], as_json: bool) -> None:
    """Print a report, and its incidents as messages too."""
    print_messages(report["incidents"])
    if as_json:
        print_object(report)
    else:
        rows = {**report, "incidents": "\n".join(report["incidents"]) or None}
        print_rows({name.replace("_", " "): value for name, value in rows.items()})


def _holdout_note(report: dict[str, Any]) -> str:
    """Return a note if the saved model was fitted without some of the data."""
    if not report.get("n_held_out"):
        return ""
    return " (fitted without the held-out data; use --holdout 0 to fit all data)"
