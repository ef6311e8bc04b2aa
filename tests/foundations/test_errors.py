import pickle

import pytest

from grassvine.foundations import errors
from grassvine.foundations.errors import unknown


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.BasisError, ValueError),
        (errors.DataError, ValueError),
        (errors.NetworkError, ValueError),
        (errors.PlanError, ValueError),
        (errors.MessageError, ValueError),
        (errors.AgentError, RuntimeError),
        (errors.CheckFailed, AssertionError),
        (errors.MissingExtra, ImportError),
    ],
)
def test_every_error_is_ours_and_one_of_python(
    error: type[Exception], builtin: type[Exception]
) -> None:
    assert issubclass(error, errors.GrassvineError) and issubclass(error, builtin)


def test_not_settled_is_a_warning_and_no_error() -> None:
    assert issubclass(errors.ConvergenceWarning, UserWarning)
    assert not issubclass(errors.ConvergenceWarning, errors.GrassvineError)


def test_an_agent_error_names_agent_slot_and_cause() -> None:
    assert str(errors.AgentError(3, 731, "a tear")) == "agent 3 failed at slot 731: a tear"


def test_an_agent_error_passes_between_processes_whole() -> None:
    arrived = pickle.loads(pickle.dumps(errors.AgentError(3, 731, "a tear")))
    assert (arrived.agent, arrived.slot, arrived.cause) == (3, 731, "a tear")


def test_a_missing_extra_reports_how_to_install_it() -> None:
    message = str(errors.MissingExtra("the picture", "plots"))
    assert message == "the picture needs an optional dependency: pip install 'grassvine[plots]'"


def test_an_unknown_option_is_answered_with_the_nearest_known() -> None:
    message = unknown("preconditioner", "gramm", ["none", "gram", "diagonal"])
    assert message == "unknown preconditioner 'gramm'; did you mean 'gram'?"


@pytest.mark.parametrize("given", ["zzz", 3, None])
def test_an_unknown_option_near_to_none_is_answered_with_all_known(given: object) -> None:
    message = unknown("schedule", given, ["one-edge", "matchings"])
    assert message == f"unknown schedule {given!r}; choose from matchings, one-edge."


def test_a_message_obeys_nobody_and_stays_short() -> None:
    error = errors.DataError("the column '\x1b[2J\ud800" + "a" * 10_000 + "' is empty; drop it.")
    assert "\x1b" not in str(error) and str(error).startswith("the column '\\x1b[2J\\ud800aaa")
    assert str(error).endswith("aaa' is empty; drop it.") and len(str(error)) < 1100
    assert str(errors.OutputError("é→5°\nnext")) == "é→5°\nnext"
