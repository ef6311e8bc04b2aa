import pytest
from tests.engines.process_engine import ProcessEngine

import grassvine as gv
from grassvine.engines import Engine
from grassvine.foundations.errors import PlanError


@pytest.mark.parametrize(
    "engine",
    [gv.LocalEngine(), gv.ThreadsEngine(2), gv.ThreadsEngine(5)],
    ids=["local", "threads 2", "threads 5"],
)
def test_every_engine_gives_the_bits_of_the_local_one(engine: Engine) -> None:
    gv.checks.check_engine(engine)


def test_processes_give_the_bits_of_the_local_engine_though_messages_arrive_twice() -> None:
    engine = ProcessEngine()
    gv.checks.check_engine(engine)
    assert len(engine.duplicates) > 100


def test_the_number_of_workers_is_checked() -> None:
    with pytest.raises(PlanError, match="workers is 0; choose a number of at least 1"):
        gv.ThreadsEngine(0)
