import json
import os
import stat
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grassvine.foundations.errors import DataError
from grassvine.peers.status import FILE, Status, read_status, write_status

STATUS = Status(
    "clinic-a", "ab" * 32, os.getpid(), 1.5, 3, 9, "waiting", ("clinic-b",), ("clinic-c",)
)


@given(
    slot=st.integers(0, 10**9),
    error=st.none() | st.floats(0, 1e9),
    reason=st.text(st.characters(exclude_categories=["Cs"])),
)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, slot: int, error: float | None, reason: str
) -> None:
    folder = tmp_path_factory.mktemp("own")
    status = replace(STATUS, slot=slot, held_out_error=error, reason=reason)
    write_status(folder, status)
    assert read_status(folder) == status
    assert [one.name for one in folder.iterdir()] == [FILE]


def test_it_tells_whether_its_process_lives() -> None:
    assert STATUS.process_lives
    assert replace(STATUS, pid=1).process_lives  # of another user, for most
    dead = os.fork()
    if not dead:
        os._exit(0)
    os.waitpid(dead, 0)
    assert not replace(STATUS, pid=dead).process_lives
    assert STATUS.as_object()["process_lives"] is True


def changed(**changes: Any) -> str:
    return json.dumps({**asdict(STATUS), **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "null",
        json.dumps({"member": "a"}),
        changed(more=1),
        changed(slot="3"),
        changed(clocks={"clinic-b": "late"}),
        changed(pid=0),
        changed(pid=-1),
        changed(pid=2**40),
        changed(pid=True),
        changed(connected=None),
        changed(connected=[1]),
        changed(connected="abc"),
        changed(updated="now"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(DataError, match="is not a status"):
        read_status(tmp_path)


def test_without_a_run_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no run was started"):
        read_status(tmp_path)
    write_status(tmp_path, STATUS)
    assert stat.S_ISREG((tmp_path / FILE).stat().st_mode)
