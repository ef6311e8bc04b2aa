"""``grassvine compare --implicit``: compare rankings of events on the same splits."""

from typing import Any

from grassvine.cli.output import print_messages, print_object, print_text_table, progress
from grassvine.data.tables.event_table import EventTable
from grassvine.jobs.ranking_comparison import MEASURES, RankingComparison, compare_rankings
from grassvine.jobs.ranking_methods import MAX_ITEMS, RANKED_METHODS, RankingSetting
from grassvine.sums.implicit import ease

LIMITS = {"ease": ease.MAX_ITEMS, "item-knn": MAX_ITEMS}


def run_rankings(
    table: EventTable,
    methods: str | None,
    setting: RankingSetting,
    *,
    splits: int,
    split: Any,
    holdout: float,
    as_json: bool,
) -> None:
    """Compare methods, by default all that are possible, and print a table or one object."""
    n_items = len(table.items)
    able = [name for name in RANKED_METHODS if n_items <= LIMITS.get(name, n_items)]
    names = able if methods is None else [name.strip() for name in methods.split(",")]

    def watch(method: str, number: int) -> None:
        share = (number + names.index(method) / len(names)) / splits
        bar.update(share, f"{method}, split {number + 1} of {splits}")

    with progress("comparing") as bar:
        found = compare_rankings(
            table, names, setting, n_splits=splits, split=split, holdout=holdout, watch=watch
        )
    print_messages(f"{name} was not run: {how}" for name, how in found.absent.items())
    rows = _rows(found)
    if as_json:
        chosen = {"split": split, "splits": splits, "holdout": holdout, "seed": setting.seed}
        print_object(
            {**chosen, "n_test": found.n_test, "methods": rows, "not_installed": found.absent}
        )
    else:
        _show(rows)


def _rows(found: RankingComparison) -> list[dict[str, Any]]:
    rows = []
    for row in found.rows:
        cells: dict[str, Any] = {"method": row.method}
        for measure in MEASURES:
            cells[measure] = row.mean(measure)
            difference, error = found.difference(row, measure)
            first = row is found.rows[0]
            cells[f"{measure}_difference"] = None if first else difference
            cells[f"{measure}_difference_error"] = None if first else error
        cells["coverage_10"] = float(row.coverage.mean())
        cells["seconds"] = float(row.seconds.mean())
        cells["cpu_seconds"] = float(row.cpu_seconds.mean())
        rows.append(cells)
    return rows


def _show(rows: list[dict[str, Any]]) -> None:
    header = ["method", "nDCG@10", "nDCG@100", "difference", "R@20", "MAP", "coverage@10", "CPU s"]
    table = [header]
    for row in rows:
        difference, error = (row[f"ndcg_100_difference{end}"] for end in ("", "_error"))
        cells = [f"{row[name]:.4f}" for name in ("ndcg_10", "ndcg_100")]
        cells.append("" if difference is None else f"{difference:+.4f} ±{error:.4f}")
        cells += [f"{row[name]:.4f}" for name in ("recall_20", "map_100", "coverage_10")]
        table.append([row["method"], *cells, f"{row['cpu_seconds']:.1f}"])
    print_text_table(table)
