"""Four organisations far from each other: one only dials, one has nothing but a proxy."""

import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.cluster.hosts import why_no_hosts
from tests.cluster.organisations import PORT, House, organisations
from tests.real_data import real_file

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(why_no_hosts() is not None, reason=str(why_no_hosts())),
    pytest.mark.skipif(find_spec("grpc") is None, reason="the extra 'peers' is not installed"),
]

DELAY = 0.02  # seconds from any host to any other
CALM_RUN = 300.0  # seconds; about 15 where the machine has nothing else to do


def listening_until_the_end(
    houses: Sequence[House], processes: Sequence["subprocess.Popen[str]"]
) -> set[str]:
    """Wait for all members; return which of them were seen to listen meanwhile."""
    seen, left = set(), CALM_RUN
    for process in processes:
        while process.poll() is None and left > 0:
            seen |= {house.folder.name for house in houses if house.listens()}
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                left -= 0.1
    return seen


def test_four_organisations_learn_one_model(tmp_path: Path) -> None:
    ratings = real_file("ml-100k/u.data")
    with organisations(tmp_path, DELAY) as four, ExitStack() as stack:
        four.divide(ratings)
        plan = four.draft("--rank", 3)
        assert plan["links"] == [["b", "a"], ["c", "a"], ["d", "b"]]
        assert four.connects() == []
        processes = [stack.enter_context(one.joining(plan["words"])) for one in four.houses]
        assert listening_until_the_end(four.houses, processes) == {"a", "b"}
        logs = [(one.folder / "join.log").read_text()[-1000:] for one in four.houses]
        assert [process.returncode for process in processes] == [0] * 4, logs
        # b may have been slower than d, which then tried again.
        assert {request.split(" ")[1] for request in four.connects()} == {f"h1:{PORT}"}
        sent = [one.bytes_sent for one in four.houses]
    models = [(tmp_path / name / "model" / "shared.safetensors").read_bytes() for name in "abcd"]
    assert models == models[:1] * 4
    assert min(sent) > 10**5
