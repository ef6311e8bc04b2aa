"""``grassvine peer join``: the checks, the question, the run, and the model."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grassvine.cli import options
from grassvine.cli.implicit import Count
from grassvine.cli.output import (
    AsJson,
    Overwrite,
    print_messages,
    print_object,
    print_rows,
    progress,
)
from grassvine.cli.peer import Folder, PlanFile, need_peers, sent_lines
from grassvine.cli.watch import Live, live_page, require_live
from grassvine.foundations.errors import Option, PlanError

if TYPE_CHECKING:
    from grassvine.peers.joining.join import Prepared


def join(
    plan: PlanFile,
    table: Annotated[
        str,
        typer.Argument(help="This member's own table; - for standard input.", show_default=False),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FOLDER", help="Model to write.", show_default=False),
    ],
    folder: Folder = None,
    words: Annotated[
        str | None,
        typer.Option(metavar="WORDS", help="The eight words, where nobody can be asked."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Join without comparing words; for trials only.")
    ] = False,
    patience: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="How long to wait for absent members; the plan's if omitted."
        ),
    ] = None,
    user: options.User = None,
    item: options.Item = None,
    rating: options.Rating = None,
    count: Count = None,
    separator: options.Separator = None,
    skip_rows: options.SkipRows = 0,
    encoding: options.Encoding = None,
    duplicates: options.Duplicates = "error",
    missing: options.Missing = "error",
    shared_only: options.SharedOnly = False,
    live: Live = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Take part in a run with this member's own data; started again, it goes on where it was."""
    need_peers()
    from grassvine.foundations.files import make_folder
    from grassvine.models.persistence.files import may_replace
    from grassvine.peers.joining import join as joining
    from grassvine.peers.joining.member_data import Reading
    from grassvine.peers.joining.run import run_peer
    from grassvine.peers.plan.group_plan import read_plan
    from grassvine.protocol.observers import TimetableShare

    if patience is not None and not 0.0 < patience < float("inf"):
        raise PlanError(Option("patience"), f" is {patience:g}; use a number of seconds above 0.")
    if live:
        require_live()
    may_replace(out, overwrite)
    make_folder(out.absolute().parent)
    choices: Any = {"duplicates": duplicates, "missing": missing}
    reading = Reading(
        separator=separator,
        skip_rows=skip_rows,
        encoding=encoding,
        user=user,
        item=item,
        rating=rating,
        count=count,
        **choices,
    )
    prepared = joining.prepare(read_plan(plan), table, folder=folder, reading=reading)
    print_messages(prepared.table.assumed)
    confirm(prepared, words, yes=yes)
    with live_page(prepared.journal, wanted=live), progress("learning") as bar:
        observe = TimetableShare(prepared.n_slots, bar)
        state = joining.run(prepared, partial(run_peer, observe=observe), patience)
    joining.save_model(prepared, state, out, private=not shared_only, overwrite=overwrite)
    report = {
        "model": str(out),
        "member": prepared.name,
        "members": len(prepared.plan.members),
        **prepared.table.counts,
        **joining.metrics(state),
    }
    if prepared.meetings is not None:
        report["meetings"] = str(prepared.meetings)
    if as_json:
        print_object(report)
    else:
        print_rows({name.replace("_", " "): value for name, value in report.items()})


def confirm(prepared: "Prepared", words: str | None, *, yes: bool) -> None:
    """Show what will leave the house and the words of the plan, and ask; refuse other words."""
    from grassvine.peers.identity.words import same_words, words_of
    from grassvine.peers.plan.explain import explain

    digest = prepared.plan.digest
    if words is not None and not same_words(words, digest):
        raise PlanError(
            "these are not the words of this plan; do not join before all members read the same "
            "words from their screens."
        )
    explained = explain(prepared.plan, prepared.name)
    for name, rows in explained.sent.items():
        print_messages(sent_lines(name, rows))
    counts = ", ".join(f"{count:,} {what}" for what, count in prepared.table.counts.items())
    print_messages(["", *explained.sentences, "", f"The table has {counts}."])
    print_messages(prepared.warnings)
    print_messages([f"The words of the plan: {words_of(digest)}"])
    if yes or words is not None:
        return
    if not sys.stdin.isatty():
        raise PlanError(
            "nobody can be asked here; compare the words with all members, and pass them with ",
            Option("words"),
            ".",
        )
    print_messages(["Call the other members, and let everybody read these words aloud."])
    question = "Do all members have the same words, and may this leave the house?"
    if not typer.confirm(question, err=True):
        raise PlanError("not joined; nothing has left this house.")
