"""Reaching a cluster. Ray itself is not needed: what is looked at happens before it, or around."""

import signal
import socket
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import grassvine as gv
from grassvine.foundations.errors import PlanError


@pytest.fixture(autouse=True)
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """A Ray that is never to be started, or that takes SIGTERM for itself as Ray does."""
    before = signal.getsignal(signal.SIGTERM)
    worker = SimpleNamespace(_worker_logs_enabled=True)
    module = SimpleNamespace(
        _private=SimpleNamespace(worker=worker),
        is_initialized=lambda: False,
        init=lambda *_, **__: signal.signal(signal.SIGTERM, signal.SIG_IGN),
        shutdown=lambda: None,
    )
    monkeypatch.setitem(sys.modules, "ray", module)
    yield module
    signal.signal(signal.SIGTERM, before)


def join(address: str) -> None:
    with gv.engines.ray_cluster(address):
        raise AssertionError


@pytest.mark.parametrize(
    "address",
    ["nonsense", "ray://a:1", ":6379", "head:", "head:port", "head:65536", "http://head:8265"],
)
def test_what_is_no_address_is_refused_at_once(address: str) -> None:
    with pytest.raises(PlanError, match=f"^{address!r} is not the address of a Ray cluster; use"):
        join(address)


def test_where_nobody_listens_ray_is_not_waited_for() -> None:
    with socket.socket() as taken:  # bound and not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(PlanError, match=rf"^cannot reach {address} \(.*refused\); check that"):
            join(address)


def test_a_name_that_no_host_can_have_is_a_sentence_too() -> None:
    with pytest.raises(PlanError, match=r"^cannot reach head\.\.lan:6379 \(.*\); check that"):
        join("head..lan:6379")


def test_a_cluster_that_refuses_is_reported_with_its_reason(ray: SimpleNamespace) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ConnectionError("\nthe token is another one\nat some line")

    ray.init, ray.exceptions = refuse, SimpleNamespace(RayError=RuntimeError)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(
            PlanError,
            match=r"^cannot connect to the Ray .* \(the token is another one\); check.*_PATH",
        ),
    ):
        join(f"127.0.0.1:{server.getsockname()[1]}")


def test_a_program_keeps_its_answer_to_sigterm() -> None:
    def own(*_: object) -> None: ...

    signal.signal(signal.SIGTERM, own)
    with gv.engines.ray_cluster():
        assert signal.getsignal(signal.SIGTERM) is own


def test_one_that_has_none_gets_that_of_ray() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with gv.engines.ray_cluster():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
