"""Commands for saved models: predict, recommend, fold-in, inspect."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grassvine.cli import options
from grassvine.cli.implicit import Count
from grassvine.cli.output import (
    AsJson,
    Overwrite,
    check_table_path,
    print_messages,
    print_object,
    print_rows,
    progress,
    write_table,
)
from grassvine.foundations.errors import Option, PlanError

if TYPE_CHECKING:
    from grassvine.data.tables import RatingTable

Model = Annotated[Path, typer.Argument(help="Folder of a saved model.", show_default=False)]
Titles = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Table with ids of items and their titles, such as movies.dat."
    ),
]


def predict(
    model: Model,
    table: Annotated[
        str,
        typer.Argument(
            help="Table of user and item pairs, or of samples if the model is of tasks or "
            "components; - for standard input.",
            show_default=False,
        ),
    ],
    user: options.User = None,
    item: options.Item = None,
    task: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with task ids; as in the fit if omitted."),
    ] = None,
    separator: options.Separator = None,
    skip_rows: options.SkipRows = 0,
    encoding: options.Encoding = None,
    on_unknown: options.OnUnknown = "raise",
    interval: options.Interval = None,
    out: options.TableOut = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Predict ratings or targets, or project samples onto components."""
    from grassvine.data.tables import read_table
    from grassvine.foundations.errors import ModelError
    from grassvine.models import RankingModel, RatingsModel, TasksModel, inspect, load
    from grassvine.models.queries import coordinates, predict_ratings, predict_targets

    choice: Any = on_unknown
    check_table_path(out, overwrite=overwrite)
    with progress("reading") as bar:
        loaded = load(model)
        if isinstance(loaded, RankingModel):
            raise ModelError(
                f"{model} ranks items by what users choose and predicts no ratings; use "
                "'grassvine recommend' or 'grassvine explain'."
            )
        asked = read_table(
            table,
            separator=separator,
            skip_rows=skip_rows,
            encoding=encoding,
            watch=bar.update,
        )
    print_messages(asked.assumed)
    if interval is not None and not isinstance(loaded, RatingsModel | TasksModel):
        raise PlanError(Option("interval"), " is for models of ratings and tasks; omit it.")
    with progress("predicting") as bar:
        if isinstance(loaded, RatingsModel):
            owner = inspect(model).card.parameters.get("agents")
            frame = predict_ratings(
                loaded, asked, user, item, choice, owner, interval=interval, watch=bar.update
            )
        elif isinstance(loaded, TasksModel):
            column = task or str(inspect(model).card.parameters.get("task", "task"))
            frame = predict_targets(loaded, asked, column, choice, interval)
        else:
            frame = coordinates(loaded, asked)
    write_table(frame, "predictions", out, as_json)


def recommend(
    model: Model,
    user: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="User id; may be repeated.")
    ] = None,
    owner: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Owner of each --user, for ids that several owners use."),
    ] = None,
    users: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Table with user ids; - for standard input."),
    ] = None,
    k: Annotated[int, typer.Option("-k", "--k", help="Number of items per user.")] = 10,
    score: Annotated[
        str | None,
        typer.Option(
            metavar="chosen|rating|cautious",
            help="For models of ratings: rank by what the user will choose (the default if the "
            "model has learned it), by the predicted rating, or by the lower end of its interval.",
        ),
    ] = None,
    seen: Annotated[
        bool, typer.Option("--seen", help="Include items that the user has rated or chosen.")
    ] = False,
    exclude: Annotated[
        str | None, typer.Option(metavar="FILE", help="Table with items to leave out.")
    ] = None,
    candidates: Annotated[
        str | None, typer.Option(metavar="FILE", help="Table with the only items to choose from.")
    ] = None,
    min_users: Annotated[
        int, typer.Option(min=1, help="Leave out items that fewer users have chosen.")
    ] = 1,
    titles: Titles = None,
    separator: Annotated[
        str, typer.Option(metavar="TEXT", help="Field separator of the tables with users or items.")
    ] = ",",
    skip_rows: options.SkipRows = 0,
    encoding: options.Encoding = None,
    on_unknown: options.OnUnknown = "raise",
    out: options.TableOut = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Recommend the items with the highest scores, to all users by default."""
    from grassvine.data.tables import read_table
    from grassvine.data.tables.titles import read_titles, with_titles
    from grassvine.models import RatingsModel, inspect
    from grassvine.models.queries import (
        items_listed,
        load_recommender,
        owner_ids,
        users_listed,
        users_named,
    )

    choice: Any = on_unknown
    check_table_path(out, overwrite=overwrite)
    if user and users:
        raise typer.BadParameter("use --user or --users, not both.")
    if owner and not user:
        raise typer.BadParameter("use --owner with --user.")
    with progress("reading"):
        loaded = load_recommender(model)
        names = None if titles is None else read_titles(titles)
        filters: dict[str, Any] = {}
        for name, path in (("exclude", exclude), ("candidates", candidates)):
            if path is not None:
                filters[name] = items_listed(loaded, read_table(path, separator=separator))
        filters["min_users"] = min_users
        if isinstance(loaded, RatingsModel):
            filters["score"] = score
        elif score is not None:
            raise typer.BadParameter("--score is for models of ratings; omit it.")
    asked, owners = None, None
    if user:
        asked = users_named(loaded, user)
        owners = owner_ids(loaded, owner) if owner else None
    elif users:
        with progress("reading") as bar:
            table = read_table(
                users,
                separator=separator,
                skip_rows=skip_rows,
                encoding=encoding,
                watch=bar.update,
            )
        print_messages(table.assumed)
        asked, owners = users_listed(loaded, table, inspect(model).card.parameters.get("agents"))
    with progress("recommending") as bar:
        frame = loaded.recommend(
            asked,
            k,
            exclude_seen=not seen,
            on_unknown=choice,
            owners=owners,
            watch=bar.update,
            **filters,
        )
    write_table(with_titles(frame, names), "recommendations", out, as_json)


def explain(
    model: Model,
    user: Annotated[str, typer.Option(metavar="ID", help="User id.")],
    item: Annotated[str, typer.Option(metavar="ID", help="Item id.")],
    owner: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Owner of the user, for ids that several owners use."),
    ] = None,
    k: Annotated[int, typer.Option("-k", "--k", min=1, help="Number of reasons.")] = 10,
    titles: Titles = None,
    as_json: AsJson = False,
) -> None:
    """Show which of a user's own items speak for an item, with shares that add up to the score."""
    from grassvine.data.tables.titles import read_titles, with_titles
    from grassvine.models.queries import items_named, load_recommender, owner_ids, users_named

    with progress("reading"):
        loaded = load_recommender(model)
        names = None if titles is None else read_titles(titles)
    asked = users_named(loaded, [user])[0]
    wanted = items_named(loaded, [item])[0]
    owners = None if owner is None else owner_ids(loaded, [owner])[0]
    found = loaded.explain(asked, wanted, owner=owners)
    shown = with_titles(found.shares.head(k), names)
    rest = float(found.shares["share"].tail(max(len(found.shares) - k, 0)).sum())
    parts = {"score": found.score, "popularity": found.popularity, "other_items": rest}
    if as_json:
        print_object({**parts, "items": shown.to_dicts()})
        return
    reasons = {
        " ".join(str(part) for part in row if part is not None): share
        for *row, share in shown.iter_rows()
    }
    facts = {"score": found.score, "what is popular": found.popularity, **reasons}
    print_rows({**facts, "all other items": rest} if len(found.shares) > k else facts)


def fold_in(
    model: Model,
    ratings: Annotated[
        str,
        typer.Argument(
            help="Ratings or events of new users; - for standard input.", show_default=False
        ),
    ],
    k: Annotated[int, typer.Option("-k", "--k", help="Number of items per user.")] = 10,
    user: options.User = None,
    item: options.Item = None,
    rating: options.Rating = None,
    count: Count = None,
    separator: options.Separator = None,
    skip_rows: options.SkipRows = 0,
    encoding: options.Encoding = None,
    duplicates: options.Duplicates = "error",
    missing: options.Missing = "error",
    titles: Titles = None,
    drop_unknown: Annotated[
        bool, typer.Option("--drop-unknown", help="Drop ratings of items unknown to the model.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="Save the model with the new users added."
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Add new users from their ratings without refitting, and recommend items to them."""
    from grassvine.data.tables import read_table
    from grassvine.data.tables.titles import read_titles, with_titles
    from grassvine.datasets.rating_files import TEXT
    from grassvine.foundations.watch import part_of
    from grassvine.models import RankingModel
    from grassvine.models.persistence.files import inspect, may_replace, save
    from grassvine.models.queries import load_recommender, new_events, new_ratings

    choices: Any = {"duplicates": duplicates, "missing": missing}
    if out is not None:
        may_replace(out, overwrite)
    card = inspect(model).card
    with progress("reading") as bar:
        loaded = load_recommender(model)
        names = None if titles is None else read_titles(titles)
        table = read_table(
            ratings,
            separator=separator,
            skip_rows=skip_rows,
            encoding=encoding,
            watch=part_of(bar.update, 0.0, TEXT),
        )
        columns: dict[str, Any] = {
            "user": user,
            "item": item,
            "owner": card.parameters.get("agents"),
            "watch": part_of(bar.update, TEXT, 1.0),
        }
        new: RatingTable
        if isinstance(loaded, RankingModel):
            new = new_events(loaded, table, count=count, missing=choices["missing"], **columns)
        else:
            new = new_ratings(loaded, table, rating=rating, **columns, **choices)
    print_messages(new.assumed)
    unknown: Any = "drop" if drop_unknown else "raise"
    added = new.users_with_owners, new.items, new.ratings
    folded: Any
    with progress("solving") as bar:
        if isinstance(loaded, RankingModel):
            folded = loaded.with_users(*added, unknown_items=unknown)
        else:
            folded = loaded.with_users(*added, unknown_items=unknown, watch=bar.update)
    if n_dropped := folded.n_dropped:
        what = "event" if isinstance(loaded, RankingModel) else "rating"
        dropped = f"1 {what}" if n_dropped == 1 else f"{n_dropped} {what}s"
        print_messages([f"Dropped {dropped} of items unknown to the model."])
    if out is not None:
        save(folded.model, out, card, overwrite=overwrite)
        print_messages([f"model: {out}"])
    with progress("recommending") as bar:
        best = folded.model.recommend(
            new.users.series,
            k,
            on_unknown="fallback",
            owners=new.users_with_owners.owners,
            watch=bar.update,
        )
    write_table(with_titles(best, names), "recommendations", None, as_json)


def inspect(model: Model, as_json: AsJson = False) -> None:
    """Describe a saved model, from its file headers only."""
    from grassvine.models import inspect as describe

    found = describe(model)
    if as_json:
        print_object(asdict(found))
        return
    private = [f"{name}: {', '.join(content)}" for name, content in found.private.items()]
    facts = {
        "kind": found.kind,
        **found.sizes,
        "shared part": ", ".join(sorted(found.nbytes.keys() - found.private.keys())),
        "private part": "\n".join(private) or "not included",
        "bytes": sum(found.nbytes.values()),
        "data hash": found.card.data_hash,
        "written by": ", ".join(f"{name} {one}" for name, one in found.written_by.items()),
    }
    # Whoever saved the model chose the other names, which must not replace those of facts.
    others = {**found.numbers, **found.card.parameters, **found.card.metrics}
    print_rows({**facts, **{name: value for name, value in others.items() if name not in facts}})
