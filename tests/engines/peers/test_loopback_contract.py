"""The engine contract, between processes that know each other by their certificates only."""

import pytest
from tests.engines.peers.loopback_engine import LoopbackEngine

import grassvine as gv


@pytest.mark.slow
def test_members_over_tls_give_the_bits_of_the_local_engine() -> None:
    engine = LoopbackEngine()
    try:
        gv.checks.check_engine(engine)
    finally:
        engine.close()
