from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from grassvine.foundations.errors import NetworkError
from grassvine.foundations.seeds import stream
from grassvine.networks import (
    Matchings,
    Network,
    PoissonClocks,
    Recorded,
    Schedule,
    Timetable,
    erdos_renyi,
    path,
    ring,
)

networks = st.builds(erdos_renyi, st.integers(1, 9), st.floats(0.6, 1.0), seed=st.integers(0, 1000))
TABLE = PoissonClocks().draw(ring(6), 40, stream(0, "timetable"))


def replay(record: Recorded, network: Network, n_slots: int) -> Timetable:
    return record.draw(network, n_slots, stream(99, "timetable"))


@given(networks, st.sampled_from([PoissonClocks(), Matchings()]), st.integers(0, 20))
def test_a_record_gives_the_meetings_again(
    network: Network, schedule: Schedule, n_slots: int
) -> None:
    table = schedule.draw(network, n_slots, stream(4, "timetable"))
    record = Recorded.of(table)
    assert replay(record, network, n_slots).digest() == table.digest()
    assert record == Recorded.of(replay(record, network, n_slots))


def test_a_run_may_end_before_the_record() -> None:
    shorter = replay(Recorded.of(TABLE), ring(6), 10)
    assert [shorter.meetings(k) for k in range(10)] == [TABLE.meetings(k) for k in range(10)]


def test_nothing_is_drawn() -> None:
    rng = stream(0, "timetable")
    Recorded.of(TABLE).draw(ring(6), 40, rng)
    assert rng.random() == stream(0, "timetable").random()


@pytest.mark.parametrize(
    ("network", "n_slots", "message"),
    [
        (ring(7), 40, "the record has 6 agents but the network has 7"),
        (path(6), 40, r"agents 0 and 5 meet at slot \d+ of the record, but the network has no"),
        (ring(6), 41, "the record has 40 slots but the run needs 41; choose at most 40 slots"),
    ],
)
def test_a_record_that_does_not_fit_is_refused(
    network: Network, n_slots: int, message: str
) -> None:
    with pytest.raises(NetworkError, match=message):
        replay(Recorded.of(TABLE), network, n_slots)


def test_what_is_sent_one_way_only_is_no_meeting() -> None:
    with pytest.raises(NetworkError, match="has deliveries in one direction only"):
        Recorded.of(Timetable.from_deliveries(3, [[(0, 1), (1, 0)], [(1, 2)]]))


@pytest.mark.parametrize(
    ("meetings", "message"),
    [
        (3, "meetings must be a list of slots"),
        ([3], "meetings must be a list of slots"),
        ([[3]], "the link 3 is not a pair"),
        ([[(0, 6)]], "there are 6 agents"),
        ([[(2, 2)]], "agent 2 is linked to itself"),
    ],
)
def test_meetings_are_checked(meetings: Any, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        Recorded(6, meetings)


@given(networks, st.integers(0, 20))
def test_a_saved_timetable_is_loaded_again(
    tmp_path_factory: pytest.TempPathFactory, network: Network, n_slots: int
) -> None:
    file = tmp_path_factory.mktemp("tables") / "meetings.safetensors"
    table = PoissonClocks().draw(network, n_slots, stream(4, "timetable"))
    table.save(file)
    again = Timetable.load(file)
    assert again.digest() == table.digest()
    assert (again.n_agents, again.n_slots) == (table.n_agents, table.n_slots)


def _metadata(table: Timetable) -> dict[str, str]:
    return {"format": "grassvine timetable 1", "digest": table.digest()}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("senders", np.flip(TABLE.senders)),
        ("senders", TABLE.senders[:-2]),
        ("receivers", TABLE.receivers + np.int32(1)),
        ("offsets", TABLE.offsets[::-1]),
        ("offsets", TABLE.offsets[:-1]),
        ("offsets", TABLE.offsets[:0]),
        ("n_agents", np.array([7])),
        ("n_agents", np.array([6, 6])),
    ],
)
def test_an_altered_file_is_refused(tmp_path: Path, name: str, value: Any) -> None:
    file = tmp_path / "meetings.safetensors"
    TABLE.save(file)
    arrays = load_file(file) | {name: np.ascontiguousarray(value)}
    save_file(arrays, file, metadata=_metadata(TABLE))
    with pytest.raises(NetworkError, match="was altered after it was saved: its digest differs"):
        Timetable.load(file)


def test_a_flipped_byte_is_found(tmp_path: Path) -> None:
    file = tmp_path / "meetings.safetensors"
    TABLE.save(file)
    data = bytearray(file.read_bytes())
    for place in range(8, len(data), 61):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(NetworkError, match=r"written by Timetable\.save|altered"):
            Timetable.load(file)


@pytest.mark.parametrize("change", ["type", "extra", "format", "truncated", "missing"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, change: str) -> None:
    file = tmp_path / "meetings.safetensors"
    TABLE.save(file)
    arrays, metadata = load_file(file), _metadata(TABLE)
    if change == "type":
        arrays["senders"] = arrays["senders"].astype(np.float64)
    elif change == "extra":
        arrays["more"] = np.zeros(3)
    elif change == "format":
        metadata["format"] = "grassvine timetable 2"
    save_file(arrays, file, metadata=metadata)
    if change == "truncated":
        file.write_bytes(file.read_bytes()[:-5])
    elif change == "missing":
        file.unlink()
    with pytest.raises(NetworkError, match=r"written by Timetable\.save|is not a timetable"):
        Timetable.load(file)
