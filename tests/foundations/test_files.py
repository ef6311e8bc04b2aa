import os
from pathlib import Path

import pytest

from grassvine.foundations.errors import OutputError
from grassvine.foundations.files import make_folder, write_whole


def refuse(descriptor: int) -> None:
    raise OSError("no space left")


@pytest.mark.parametrize("data", [b"", b"one", b"line\r\n\0"])
def test_what_is_written_is_there_byte_for_byte(tmp_path: Path, data: bytes) -> None:
    assert write_whole(tmp_path / "file", data).read_bytes() == data


def test_a_path_may_be_text(tmp_path: Path) -> None:
    assert write_whole(str(tmp_path / "file"), b"one") == tmp_path / "file"


def test_a_written_file_stands_alone(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", b"old")
    write_whole(tmp_path / "file", b"new")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"file": b"new"}


def test_a_failed_write_leaves_the_old_file_and_no_partial_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(tmp_path / "file", b"old")
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="no space left"):
        write_whole(tmp_path / "file", b"new")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"file": b"old"}


def test_a_failed_first_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="no space left"):
        write_whole(tmp_path / "file", b"new")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_move_leaves_no_partial_file(tmp_path: Path) -> None:
    place = tmp_path / "directory"
    (place / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write_whole(place, b"new")
    assert list(tmp_path.iterdir()) == [place]


def test_a_folder_is_made_with_those_above_it_and_left_empty(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "one" / "two")
    assert folder.is_dir() and not list(folder.iterdir())
    assert make_folder(folder) == folder


def test_a_place_where_no_folder_can_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError, match=r"cannot be written to \(.*\); choose another folder"):
        make_folder(tmp_path / "file" / "folder")
