"""What all commands that learn do with a request: read, learn, write, tell."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grassvine.cli.output import busy, print_object, print_rows, say

if TYPE_CHECKING:
    from grassvine.jobs.base import Job

# Where data and machines were is nobody else's business, and a resumed run learns the same.
NOT_ON_A_CARD = ("data", "address", "checkpoints", "resume")


def learn(
    title: str,
    job: "Job",
    *,
    out: Path | None,
    run: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Answer a request; where its results cannot go is said before the work."""
    from grassvine.foundations.files import make_folder
    from grassvine.jobs.run_folder import refuse_folder, save_run
    from grassvine.models.persistence.files import may_replace, save

    if out is not None:
        may_replace(out, overwrite)
        make_folder(out.absolute().parent)
    if run is not None:
        refuse_folder(run, overwrite=overwrite)
        make_folder(run.absolute().parent)
    with busy("reading"):
        data = job.read()
    say(data.assumed)
    try:
        with busy("learning"):
            result = job.learn(data)
    except (KeyboardInterrupt, SystemExit):  # by the keyboard, or terminated
        if job.checkpoints:
            say([f"stopped; --resume goes on from what was kept in {job.checkpoints}"])
        raise
    if out is not None:
        options = asdict(job)  # type: ignore[call-overload]
        made = {name: value for name, value in options.items() if name not in NOT_ON_A_CARD}
        save(result.model, out, result.card(title, made), overwrite=overwrite)
        say([f"model: {out}{_unseen(result.report)}"])
    if run is not None:
        save_run(run, job, result, overwrite=overwrite)
        say([f"run: {run}"])
    tell(result.report, as_json)


def tell(report: dict[str, Any], as_json: bool) -> None:
    """Print a report; what was lost on the way is a message too."""
    say(report["incidents"])
    if as_json:
        print_object(report)
    else:
        rows = {**report, "incidents": "\n".join(report["incidents"]) or None}
        print_rows({name.replace("_", " "): value for name, value in rows.items()})


def _unseen(report: dict[str, Any]) -> str:
    """Say which data the saved model has not seen."""
    if not report.get("n_held_out"):
        return ""
    return (
        " (it is the one that was measured, and has not seen what was held out; --holdout 0 learns "
        "from all)"
    )
