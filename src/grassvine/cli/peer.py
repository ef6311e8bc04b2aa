"""``grassvine peer``: identities, plans and checks of runs between organisations."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grassvine.cli import options
from grassvine.cli.flags import WRONG_INPUT, Commands
from grassvine.cli.output import (
    AsJson,
    Overwrite,
    print_messages,
    print_object,
    print_rows,
    printable,
)
from grassvine.foundations.errors import Option, OutputError, PlanError

if TYPE_CHECKING:
    from grassvine.peers.plan.explain import Sent
    from grassvine.peers.plan.group_plan import GroupPlan

peer_app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Learn together with other organisations, each in a process of its own.",
)

PlanFile = Annotated[Path, typer.Argument(help="The plan of the run.", show_default=False)]
Folder = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Private folder of this member; found by name if omitted."),
]


def need_peers() -> None:
    """Raise :class:`MissingExtra` unless what runs between organisations need is installed."""
    from grassvine.engines.peers.transport.extra import load_peers_extra

    for module in ("cryptography", "grpc", "mnemonic", "google.protobuf"):
        load_peers_extra(module)


@peer_app.command()
def init(
    name: Annotated[
        str, typer.Argument(help="Name of this member, such as clinic-a.", show_default=False)
    ],
    listen: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Address at which others can connect."),
    ] = None,
    dial_only: Annotated[
        bool, typer.Option("--dial-only", help="Open outgoing connections only.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Private folder to create; in the user's data folder if omitted."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create the keys of a member in a private folder, and its public card NAME.card."""
    need_peers()
    from grassvine.foundations.files import write_whole
    from grassvine.peers.identity.cards import SUFFIX
    from grassvine.peers.identity.identity import create_identity
    from grassvine.peers.identity.names import as_name

    if (listen is None) != dial_only:
        raise PlanError(
            "say either ", Option("listen"), " with an address, or ", Option("dial_only"), "."
        )
    card = Path(f"{as_name(name)}{SUFFIX}")
    if card.exists():
        raise OutputError(
            f"{card} already exists; an identity is never overwritten, so choose another name, or "
            "remove the card."
        )
    identity = create_identity(name, listen, folder)
    write_whole(card, identity.card.to_toml().encode())
    found = {
        "name": name,
        "card": str(card),
        "folder": str(identity.folder),
        "valid_until": f"{identity.card.x509.not_valid_after_utc:%Y-%m-%d}",
        "certificate_sha256": identity.card.fingerprint.hex(),
    }
    if as_json:
        print_object(found)
        return
    print_rows({name.replace("_", " "): value for name, value in found.items()})
    print_messages(
        [f"send {card} to whoever drafts the plan; the folder never leaves this computer"]
    )


@peer_app.command("plan")
def draft(
    cards: Annotated[list[Path], typer.Argument(help="Cards of all members.", show_default=False)],
    kind: Annotated[
        str,
        typer.Option(metavar="ratings|events|tasks|pca", help="What to learn.", show_default=False),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Plan to write.", show_default=False)
    ],
    items: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Ratings and events: table with the ids of all items."),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Tasks and components: columns that are features."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Tasks: column to predict.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Tasks: column with task ids.")
    ] = None,
    rank: Annotated[
        int, typer.Option(help="Number of factors, dimension of the subspace, or components.")
    ] = 10,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Method: bayes (ratings and tasks) or exact (components) if omitted, gossip or "
            "another one.",
        ),
    ] = None,
    regularization: Annotated[
        str | None,
        typer.Option(metavar="FLOAT|auto", help="Ratings: regularisation strength."),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Tasks: regularisation strength; 1 if omitted.")
    ] = None,
    rho: Annotated[
        str | None, typer.Option(metavar="FLOAT|auto", help="Consensus weight (gossip only).")
    ] = None,
    max_iter: Annotated[
        int | None, typer.Option(help="Approximate number of updates per member (gossip only).")
    ] = None,
    clock: Annotated[
        str | None,
        typer.Option(
            metavar="common|own",
            help="Gossip: by a common timetable, or own, with whoever has time; common if omitted.",
        ),
    ] = None,
    lowest: Annotated[
        float | None, typer.Option(help="Lowest rating there can be; with --highest.")
    ] = None,
    highest: Annotated[float | None, typer.Option(help="Highest rating there can be.")] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            help="Fraction of its data that each member holds out to measure the common error; 0.1 "
            "if omitted, 0 for components.",
        ),
    ] = None,
    secrecy: Annotated[
        str | None,
        typer.Option(
            metavar="masked|none",
            help="Whether masks hide each member's part of a sum; if omitted they do, except from "
            "gossip.",
        ),
    ] = None,
    min_support: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT",
            help="Users or samples that an item or feature needs to take part; 5 if omitted, 1 "
            "without masks.",
        ),
    ] = None,
    network: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Who is linked to whom: auto, tree, ring, star, path or complete."
        ),
    ] = "auto",
    seed: options.Seed = 0,
    patience: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long to wait for an absent member.")
    ] = 3600.0,
    item: options.Item = None,
    separator: options.Separator = None,
    skip_rows: options.SkipRows = 0,
    encoding: options.Encoding = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Draft the plan of a run from the cards of all members."""
    need_peers()
    from grassvine.foundations.files import exists
    from grassvine.peers.fit.learning import OF_ITEMS, Learning, MethodChoice, usual_method
    from grassvine.peers.identity.cards import read_card
    from grassvine.peers.joining.member_data import Reading, read_catalogue
    from grassvine.peers.plan.group_plan import GroupPlan

    if out.exists() and not overwrite:
        raise exists(out)
    given: dict[str, Any] = {
        "regularization": None
        if regularization is None
        else options.number_or_auto("regularization", regularization),
        "alpha": alpha,
        "rho": None if rho is None else options.number_or_auto("rho", rho),
        "max_iter": max_iter,
        "clock": clock,
    }
    chosen = {key: value for key, value in given.items() if value is not None}
    choice = MethodChoice.of(kind, method or usual_method(kind), chosen)
    members = [read_card(card) for card in cards]
    for member in members:
        member.require_valid()
    of_items = kind in OF_ITEMS
    wanted, other = ("items", features) if of_items else ("features", items)
    source = items if of_items else features
    if source is None or other is not None:
        unwanted = "features" if wanted == "items" else "items"
        raise PlanError(
            f"a plan for {kind} takes ", Option(wanted), ", not ", Option(unwanted), "."
        )
    if of_items:
        reading = Reading(separator=separator, skip_rows=skip_rows, encoding=encoding, item=item)
        catalogue, assumed = read_catalogue(source, reading)
        print_messages(assumed)
    else:
        catalogue = tuple(name.strip() for name in source.split(","))
    learning = Learning(
        kind=kind,
        catalogue=catalogue,
        rank=rank,
        method=choice,
        lowest=lowest,
        highest=highest,
        target=target,
        task=task,
        holdout=(0.0 if kind == "pca" else 0.1) if holdout is None else holdout,
    )
    plan = GroupPlan.draft(
        members,
        learning,
        network=network,
        seed=seed,
        patience=patience,
        secrecy=secrecy,
        min_support=min_support,
    )
    plan.save(out)
    print_plan(plan, as_json)
    print_messages([f"send {out} to all members; each reads 'grassvine peer explain {out}' first"])


@peer_app.command()
def explain(
    plan: PlanFile,
    member: Annotated[
        str | None, typer.Option(metavar="NAME", help="What this member sends; all if omitted.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what leaves each member's house in a run, and what it reveals."""
    need_peers()
    from grassvine.peers.identity.words import words_of
    from grassvine.peers.plan.explain import explain as explained
    from grassvine.peers.plan.group_plan import read_plan

    read = read_plan(plan)
    found, words = explained(read, member), words_of(read.digest)
    if as_json:
        print_object({**found.as_object(), "words": words})
        return
    for name, rows in found.sent.items():
        for line in sent_lines(name, rows):
            typer.echo(printable(line))
    for sentence in (*found.sentences, f"The words of the plan: {words}"):
        typer.echo(f"\n{printable(sentence)}")


@peer_app.command()
def doctor(
    plan: PlanFile,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Check identity, certificates, port, proxy, and the way to each neighbour."""
    need_peers()
    from grassvine.peers.doctor import examine
    from grassvine.peers.plan.group_plan import read_plan

    found = examine(read_plan(plan), folder)
    fine = all(one.fine for one in found)
    if as_json:
        checks = [{"check": one.what, "fine": one.fine, "says": one.says} for one in found]
        print_object({"fine": fine, "checks": checks})
    else:
        print_rows({one.what: f"{'ok' if one.fine else 'PROBLEM'}: {one.says}" for one in found})
    if not fine:
        raise typer.Exit(WRONG_INPUT)


@peer_app.command()
def status(
    plan: PlanFile,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Show where the run of this member is."""
    need_peers()
    from grassvine.peers.joining.join import own_identity
    from grassvine.peers.plan.group_plan import read_plan
    from grassvine.peers.status import read_status

    found = read_status(own_identity(read_plan(plan), folder).folder)
    shown = found.as_object()
    if as_json:
        print_object(shown)
        return
    shown["reason"] = found.reason or None
    shown["updated"] = datetime.fromtimestamp(found.updated).astimezone().isoformat(" ", "seconds")
    shown["clocks"] = tuple(f"{name} {ahead:+.1f} s" for name, ahead in found.clocks.items())
    print_rows(
        {
            name.replace("_", " "): ", ".join(value) or None if isinstance(value, tuple) else value
            for name, value in shown.items()
        }
    )


def print_plan(plan: "GroupPlan", as_json: bool) -> None:
    """Print who takes part, who dials whom, and the words of a plan."""
    from grassvine.peers.fit.learning import OF_ITEMS
    from grassvine.peers.identity.words import words_of

    learning, words = plan.learning, words_of(plan.digest)
    links = [f"{dialler} dials {listener}" for dialler, listener in plan.links]
    what = "items" if learning.kind in OF_ITEMS else "features"
    if as_json:
        print_object(
            {
                "digest": plan.digest.hex(),
                "words": words,
                "members": [member.name for member in plan.members],
                "links": [list(link) for link in plan.links],
                "kind": learning.kind,
                what: learning.n_items,
                "rank": learning.rank,
                "method": learning.method.name,
                "secrecy": plan.secrecy,
                "min_support": learning.min_support,
            }
        )
        return
    print_rows(
        {
            "members": "\n".join(
                f"{member.name} ({member.address or 'dials only'})" for member in plan.members
            ),
            "links": "\n".join(links),
            "kind": learning.kind,
            what: learning.n_items,
            "rank": learning.rank,
            "method": learning.method.name,
            "held out": f"{learning.holdout:.0%}",
            "secrecy": plan.secrecy,
            "min support": learning.min_support,
            "words": words,
        }
    )


def sent_lines(name: str, rows: "tuple[Sent, ...]") -> list[str]:
    """Return what a member sends, in lines of text."""
    lines = [f"\n{name} sends"]
    for row in rows:
        whose = "its own data" if row.of == (name,) else f"the data of {', '.join(row.of)}"
        times = "once" if row.most == 1 else f"up to {row.most:,} times"
        lines += [
            f"- {row.message} ({row.stage}): at most {row.nbytes:,} bytes, {times}, to "
            f"{', '.join(row.to)}",
            f"  from {whose}: {row.contains}",
            f"  who receives it learns {row.reveals}",
        ]
    return lines
