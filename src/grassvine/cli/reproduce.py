"""``grassvine reproduce``: reproduce the paper's figures and tables."""

from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grassvine.cli.output import AsJson, print_messages, print_object

if TYPE_CHECKING:
    from grassvine.engines import Engine
    from grassvine.protocol import Observer

ALL = "all"


class Scale(StrEnum):
    """Sizes of the experiments."""

    small = "small"
    paper = "paper"


class EngineName(StrEnum):
    """Execution engines."""

    local = "local"
    threads = "threads"
    ray = "ray"


def reproduce(
    name: Annotated[
        str, typer.Argument(help="Experiment: fig1, case1 to case7, or all.", show_default=False)
    ],
    scale: Annotated[
        Scale,
        typer.Option(help="Problem sizes: small (half a minute per case) or as in the paper."),
    ] = Scale.small,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Number of repetitions; depends on the case if omitted."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    engine: Annotated[EngineName, typer.Option(help="Execution engine.")] = EngineName.local,
    agents: Annotated[
        int | None, typer.Option(min=2, help="Number of agents; depends on the case if omitted.")
    ] = None,
    tune: Annotated[
        bool,
        typer.Option(
            help="Also run gossip with step sizes a/(1+bk) chosen by 5-fold cross-validation."
        ),
    ] = False,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Published data set or ratings file, for case5 and case7; may be repeated.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Output folder for pages and figures.")
    ] = Path("grassvine-paper"),
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper's experiments: figures, tables, and which claims hold."""
    from grassvine.foundations.errors import DataError, PlanError, unknown
    from grassvine.foundations.extras import load_extra
    from grassvine.foundations.files import make_folder
    from grassvine.paper import CASES, Request, write_index
    from grassvine.paper import reproduce as run_case
    from grassvine.paper.reproduce import write_reproduction

    if name != ALL and name not in CASES:
        raise PlanError(unknown("case", name, [*CASES, ALL]))
    load_extra("matplotlib", "a page with figures", "plots")
    folder = make_folder(out)
    request = Request(
        scale=scale.value,
        seed=seed,
        repeats=repeats,
        n_agents=agents,
        engine=_engine(engine),
        tune=tune,
        datasets=tuple(dataset or ()),
        watch=_progress,
    )
    done, missing = [], {}
    for case in CASES.values() if name == ALL else [CASES[name]]:
        try:
            one = run_case(case, request)
        except DataError as absent:
            if name != ALL:
                raise
            missing[case.name] = str(absent)
            print_messages([f"{case.name} was not run: {absent}"])
            continue
        paths = write_reproduction(one, folder)
        done.append(one)
        print_messages([f"{case.name}: {paths[-2]}"])
        if not as_json:
            _show(one.case.title, [(c.holds, c.claim, c.evidence) for c in one.claims])
    if name == ALL:
        print_messages([f"all: {write_index(done, missing, folder)[-1]}"])
    if as_json and name == ALL:
        cases = [one.as_object() for one in done]
        header = {"case": ALL, "scale": scale.value, "seed": seed, "cases": cases}
        print_object({**header, "not_run": missing})
    elif as_json:
        print_object(done[0].as_object())


def _engine(name: EngineName) -> "Engine":
    from grassvine.fits.options import as_engine

    return as_engine(name.value)


def _progress(title: str, n_slots: int) -> "AbstractContextManager[Observer | None]":
    from grassvine.report.progress import ProgressBar

    return ProgressBar(title, passing=True)


def _show(title: str, claims: list[tuple[bool | None, str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    verdicts = {True: "holds", False: "does not hold", None: "not decided"}
    table = Table("claim", "", "evidence", title=title, title_justify="left")
    for holds, claim, evidence in claims:
        table.add_row(claim, verdicts[holds], evidence)
    Console().print(table)
