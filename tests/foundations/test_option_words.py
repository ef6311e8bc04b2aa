"""Errors that name options: one message, two interfaces."""

import pickle

import pytest

from grassvine.foundations.errors import (
    ConvergenceWarning,
    DataError,
    GrassvineError,
    InputError,
    Option,
    OutputError,
    noting,
)


def shout(option: Option) -> str:
    return option.name.upper()


@pytest.mark.parametrize(
    ("option", "text"),
    [
        (Option("rank"), "rank"),
        (Option("duplicates", "mean"), "duplicates='mean'"),
        (Option("overwrite", True), "overwrite=True"),
        (Option("scale", None), "scale=None"),
    ],
)
def test_in_python_an_option_is_a_parameter(option: Option, text: str) -> None:
    assert str(DataError("use ", option, ".")) == f"use {text}."


@pytest.mark.parametrize("kind", [DataError, OutputError, InputError, ConvergenceWarning])
def test_every_part_of_a_message_is_kept_and_passes_between_processes(kind: type) -> None:
    error = kind("a ", Option("b", 1), " c ", Option("d"), " e")
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert str(one) == "a b=1 c d e"
        assert one.render(shout) == "a B c D e"


def test_the_place_of_an_error_keeps_its_options_and_notes() -> None:
    inner = DataError("use ", Option("missing", "drop"))
    inner.add_note("a note")
    outer = inner.within("table 3")
    assert str(outer) == "table 3: use missing='drop'"
    assert outer.render(shout) == "table 3: use MISSING"
    assert outer.__notes__ == ["a note"]


def test_what_was_assumed_is_noted_once() -> None:
    with pytest.raises(GrassvineError) as caught, noting(["one", "two"]), noting(["one"]):
        raise DataError("bad")
    assert caught.value.__notes__ == ["one", "two"]
