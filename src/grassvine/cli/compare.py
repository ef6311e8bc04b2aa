"""``grassvine compare``: compare methods on the same splits."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from grassvine.cli import options
from grassvine.cli.implicit import Count, Split
from grassvine.cli.output import AsJson, print_messages, print_object, print_text_table, progress

if TYPE_CHECKING:
    from grassvine.jobs.comparison import Comparison

DEFAULT_METHODS = "bayes,map,exact-subspace,gossip,rtrmc,d-lmafit,biases,item-means"


def compare(
    ratings: Annotated[str, typer.Argument(help="Ratings, as for complete.", show_default=False)],
    implicit: Annotated[
        bool,
        typer.Option(
            "--implicit",
            help="Compare rankings of events (clicks, purchases) instead of predicted ratings.",
        ),
    ] = False,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Comma-separated methods; the others are tested against the first.",
        ),
    ] = None,
    splits: Annotated[int, typer.Option(help="Number of random splits.")] = 5,
    split: Split = "random",
    holdout: options.Holdout = 0.2,
    rank: Annotated[
        int | None,
        typer.Option(help="Rank, for the methods that have one; the default of each if omitted."),
    ] = None,
    agents: options.NumberOfAgents = 5,
    network: options.NetworkName = "ring",
    seed: options.Seed = 0,
    user: options.User = None,
    item: options.Item = None,
    rating: options.Rating = None,
    count: Count = None,
    separator: options.Separator = None,
    skip_rows: options.SkipRows = 0,
    encoding: options.Encoding = None,
    duplicates: options.Duplicates = "error",
    missing: options.Missing = "error",
    config: options.ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare methods on random splits: errors (mean ± sd), times and paired t-tests.

    With --implicit, rankings: means over users, and differences paired over users ± their standard
    errors.
    """
    from grassvine.datasets import read_events, read_ratings
    from grassvine.jobs.compared_methods import Setting
    from grassvine.jobs.comparison import compare as run_comparison

    choices: Any = {"duplicates": duplicates, "missing": missing}
    if implicit:
        from grassvine.cli.compare_rankings import run_rankings
        from grassvine.data.tables.event_input import EventColumns
        from grassvine.jobs.ranking_methods import RankingSetting

        with progress("reading") as reading:
            events = read_events(
                ratings,
                columns=EventColumns(user, item, count),
                missing=choices["missing"],
                times=split in ("last", "time"),
                separator=separator,
                skip_rows=skip_rows,
                encoding=encoding,
                watch=reading.update,
            )
        print_messages(events.assumed)
        setting = RankingSetting("auto" if rank is None else rank, agents, network, seed)
        run_rankings(
            events,
            methods,
            setting,
            splits=splits,
            split=split,
            holdout=holdout,
            as_json=as_json,
        )
        return
    if split != "random":
        raise typer.BadParameter("use --split with --implicit; ratings are split at random.")
    with progress("reading") as reading:
        table = read_ratings(
            ratings,
            separator=separator,
            skip_rows=skip_rows,
            encoding=encoding,
            user=user,
            item=item,
            rating=rating,
            **choices,
            watch=reading.update,
        )
    print_messages(table.assumed)
    names = [name.strip() for name in (methods or DEFAULT_METHODS).split(",")]

    def watch(method: str, split: int) -> None:
        share = (split + names.index(method) / len(names)) / splits
        bar.update(share, f"{method}, split {split + 1} of {splits}")

    with progress("comparing") as bar:
        found = run_comparison(
            table,
            names,
            Setting(rank, agents, network, seed),
            n_splits=splits,
            holdout=holdout,
            watch=watch,
        )
    print_messages(f"{name} was not run: {how}" for name, how in found.absent.items())
    if found.n_unknown:
        print_messages(
            [f"{found.n_unknown} held-out ratings of unknown users or items were excluded."]
        )
    rows = _rows(found)
    if as_json:
        counts = {"n_test": found.n_test, "n_unknown": found.n_unknown}
        setting_used = {"rank": rank, "splits": splits, "holdout": holdout, "seed": seed}
        print_object({**setting_used, **counts, "methods": rows, "not_installed": found.absent})
    else:
        _show(rows)


def _rows(found: "Comparison") -> list[dict[str, Any]]:
    rows = []
    for row in found.rows:
        cells: dict[str, Any] = {"method": row.method}
        for error, values in (("rmse", row.rmse), ("mae", row.mae)):
            cells[f"{error}_mean"] = float(values.mean())
            cells[f"{error}_sd"] = float(values.std(ddof=1)) if len(values) > 1 else None
            cells[f"{error}_p"] = found.p_value(row, error)
            cells[error] = values.tolist()
        cells["seconds"] = float(row.seconds.mean())
        cells["cpu_seconds"] = float(row.cpu_seconds.mean())
        rows.append(cells)
    return rows


def _show(rows: list[dict[str, Any]]) -> None:
    table = [["method", "RMSE", "p", "MAE", "p", "s", "CPU s"]]
    for row in rows:
        cells = [row["method"]]
        for error in ("rmse", "mae"):
            sd, p = row[f"{error}_sd"], row[f"{error}_p"]
            cells.append(_number(row[f"{error}_mean"]) + ("" if sd is None else f" ±{_number(sd)}"))
            cells.append("" if p is None else f"{p:.3f}" if p >= 0.01 else f"{p:.0e}")
        table.append([*cells, f"{row['seconds']:.1f}", f"{row['cpu_seconds']:.1f}"])
    print_text_table(table)


def _number(value: float) -> str:
    """Return a number in at most six characters, unless it has an exponent."""
    return f"{value:.4f}" if abs(value) < 10.0 else f"{value:.4g}"
