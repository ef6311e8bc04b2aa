"""Commands for saved models: predict, recommend, fold-in, inspect."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from grassvine.cli import options
from grassvine.cli.output import (
    AsJson,
    Overwrite,
    busy,
    check_table_place,
    print_object,
    print_rows,
    put_table,
    say,
)

Model = Annotated[Path, typer.Argument(help="The folder of a saved model.", show_default=False)]


def predict(
    model: Model,
    table: Annotated[
        str,
        typer.Argument(
            help="A file of pairs of a user and an item; for a model of tasks or components a file "
            "of samples. - is standard input.",
            show_default=False,
        ),
    ],
    user: options.User = None,
    item: options.Item = None,
    task: Annotated[str | None, typer.Option(help="The column of the tasks.")] = None,
    separator: options.Separator = None,
    on_unknown: options.OnUnknown = "raise",
    out: options.TableOut = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Predict ratings of pairs, targets of samples, or coordinates along components."""
    from grassvine.data.tables import read_table
    from grassvine.models import RatingsModel, TasksModel, inspect, load
    from grassvine.models.queries import coordinates, predict_ratings, predict_targets

    choice: Any = on_unknown
    check_table_place(out, overwrite=overwrite)
    loaded = load(model)
    asked = read_table(table, separator=separator)
    say(asked.assumed)
    if isinstance(loaded, RatingsModel):
        frame = predict_ratings(loaded, asked, user, item, choice)
    elif isinstance(loaded, TasksModel):
        column = task or str(inspect(model).card.parameters.get("task", "task"))
        frame = predict_targets(loaded, asked, column, choice)
    else:
        frame = coordinates(loaded, asked)
    put_table(frame, "predictions", out, as_json)


def recommend(
    model: Model,
    user: Annotated[list[str] | None, typer.Option(help="A user; may be said again.")] = None,
    users: Annotated[
        str | None, typer.Option(help="A file with users; - is standard input.")
    ] = None,
    k: Annotated[int, typer.Option("-k", "--k", help="How many items for each.")] = 10,
    seen: Annotated[bool, typer.Option("--seen", help="Do not leave out what was rated.")] = False,
    separator: Annotated[str, typer.Option(help="What separates the fields of that file.")] = ",",
    on_unknown: options.OnUnknown = "raise",
    out: options.TableOut = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Recommend the items of highest predicted rating, to all users unless some are named."""
    from grassvine.data.tables import read_table
    from grassvine.models.queries import (
        load_ratings_model,
        users_known,
        users_listed,
        users_named,
    )

    choice: Any = on_unknown
    check_table_place(out, overwrite=overwrite)
    loaded = load_ratings_model(model)
    if user and users:
        raise typer.BadParameter("name users, or give a file of them, not both.")
    if user:
        asked = users_named(loaded, user)
    elif users:
        table = read_table(users, separator=separator)
        say(table.assumed)
        asked = users_listed(loaded, table)
    else:
        asked = users_known(loaded)
    frame = loaded.recommend(asked, k, exclude_seen=not seen, on_unknown=choice)
    put_table(frame, "recommendations", out, as_json)


def fold_in(
    model: Model,
    ratings: Annotated[
        str, typer.Argument(help="Ratings of new users; - is standard input.", show_default=False)
    ],
    k: Annotated[int, typer.Option("-k", "--k", help="How many items to recommend to each.")] = 10,
    user: options.User = None,
    item: options.Item = None,
    rating: options.Rating = None,
    separator: options.Separator = None,
    duplicates: options.Duplicates = "error",
    leave_out: Annotated[
        bool, typer.Option("--leave-out", help="Leave out items that the model does not know.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the model with these users beside its own."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Solve new users from their ratings, without learning anew, and recommend to them."""
    from grassvine.data.tables import read_table
    from grassvine.models.persistence.files import inspect, may_replace, save
    from grassvine.models.queries import load_ratings_model, new_ratings

    choice: Any = duplicates
    if out is not None:
        may_replace(out, overwrite)
    loaded = load_ratings_model(model)
    table = read_table(ratings, separator=separator)
    new = new_ratings(loaded, table, user=user, item=item, rating=rating, duplicates=choice)
    say(new.assumed)
    with busy("solving"):
        folded = loaded.with_users(
            new.users,
            new.items,
            new.ratings,
            unknown_items="leave out" if leave_out else "raise",
        )
    if folded.left_out:
        say([f"{folded.left_out} ratings of items that the model does not know were left out."])
    if out is not None:
        save(folded.model, out, inspect(model).card, overwrite=overwrite)
        say([f"model: {out}"])
    best = folded.model.recommend(new.users.series, k, on_unknown="fallback")
    put_table(best, "recommendations", None, as_json)


def inspect(model: Model, as_json: AsJson = False) -> None:
    """Tell what a saved model is, by its headers."""
    from grassvine.models import inspect as describe

    told = describe(model)
    if as_json:
        print_object(asdict(told))
        return
    print_rows(
        {
            "kind": told.kind,
            **told.sizes,
            **told.numbers,
            "private part": "is there" if told.private else "is not there",
            "bytes": sum(told.nbytes.values()),
            "data hash": told.card.data_hash,
            **told.card.parameters,
            **told.card.metrics,
            "written by": ", ".join(f"{name} {one}" for name, one in told.written_by.items()),
        }
    )
