import pytest

from grassvine.data.tables.columns import guess_columns
from grassvine.foundations.errors import DataError

NONE = dict.fromkeys(("user", "item", "rating"))


@pytest.mark.parametrize(
    "names",
    [
        ["user", "item", "rating"],
        ["userId", "movieId", "rating"],
        ["User ID", "Item-ID", "SCORE"],
        ["uid", "product", "stars"],
        ["customer_id", "product_id", "value"],
        ["Reviewer", "ASIN", "overall"],
    ],
)
def test_names_identify_columns_whatever_their_order_and_company(names: list[str]) -> None:
    wanted = dict(zip(NONE, names, strict=True))
    columns, by_place = guess_columns(["", *names[::-1], "timestamp", "title", "x"], NONE)
    assert columns == wanted and by_place == ()


def test_a_choice_goes_before_a_name() -> None:
    names = ["user", "item", "rating", "stars"]
    columns, by_place = guess_columns(names, NONE | {"rating": "stars"})
    assert columns["rating"] == "stars" and by_place == ()


@pytest.mark.parametrize(
    ("names", "wanted", "by_place"),
    [
        (["a", "b", "c"], ["a", "b", "c"], ("user", "item", "rating")),
        (["a", "rating", "b"], ["a", "b", "rating"], ("user", "item")),
        (["movie", "a", "b"], ["a", "movie", "b"], ("user", "rating")),
        (["a", "time", "b", "c"], ["a", "b", "c"], ("user", "item", "rating")),
        (["a", "b", "c", "d"], ["a", "b", "c", "d"], ("user", "item", "rating")),
    ],
)
def test_what_no_name_identifies_the_position_does(
    names: list[str], wanted: list[str], by_place: tuple[str, ...]
) -> None:
    columns, guessed = guess_columns(names, NONE)
    assert columns == dict(zip((*NONE, "time"), wanted, strict=False))
    assert guessed == by_place


@pytest.mark.parametrize(
    ("names", "chosen", "message"),
    [
        (
            ["user", "member", "item", "rating"],
            {},
            r"columns 'user', 'member' could all hold the users; choose one with user\. "
            "The columns are 'user', 'member', 'item', 'rating'",
        ),
        (["a", "b"], {}, r"no column name of the table identifies the users, items and ratings; "),
        (
            ["a", "b", "c", "d", "e"],
            {},
            r"columns with user, item, rating\. The c",
        ),
        (
            ["user", "item", "a", "b", "c"],
            {},
            r"identifies the ratings; choose it with rating, or .* ImplicitRecommender .*\. The",
        ),
        (
            ["user", "item", "rating"],
            {"user": "usr"},
            "no column 'usr' for the users; did you mean 'user'. The columns are 'user', 'item'",
        ),
        (
            ["user", "item"],
            {"user": "item", "item": "item"},
            "one column is chosen for several roles",
        ),
    ],
)
def test_what_remains_open_is_an_error_that_lists_the_columns(
    names: list[str], chosen: dict[str, str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        guess_columns(names, NONE | chosen)
