"""What the doctor says of a cluster; that the command finds it is in tests/cli."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grassvine.report.cluster_doctor import PACKAGES, Node, advice_on, probe_node

HERE = {"python": "3.11.7", "numpy": "2.4.6", "ray": "2.60.0"}
GOOD = Node("north", "10.0.0.2", 8.0, 32.0, 9.0, {}, {**HERE}, trouble="", folder="")


def test_nothing_is_reported_where_all_is_well() -> None:
    assert advice_on([GOOD, replace(GOOD, name="south")], True, HERE) == []


def test_a_cluster_without_a_token_is_open() -> None:
    assert advice_on([GOOD], False, HERE) == [
        "anyone who can reach the cluster can run code in it; start all nodes with "
        "RAY_AUTH_MODE=token and a token file that only its owner can read."
    ]


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        (
            replace(GOOD, versions={**HERE, "numpy": "1.26.0"}),
            "north has numpy 1.26.0, but this process has numpy 2.4.6; install the same version on "
            "all nodes.",
        ),
        (
            replace(GOOD, versions={**HERE, "python": "3.13.1"}),
            "north has python 3.13.1, but this process has python 3.11.7; install the same version "
            "on all nodes.",
        ),
        (
            replace(GOOD, versions={**HERE, "numpy": None}),
            "north has no numpy, but this process has numpy 2.4.6; install the same version on all "
            "nodes.",
        ),
        (replace(GOOD, folder="/kept is not there."), "north: /kept is not there."),
        (
            # Where nothing runs, nothing else was found out.
            replace(GOOD, trouble="nothing can run there.", versions={}, store_gigabytes=0.0),
            "north: nothing can run there.",
        ),
        (
            replace(GOOD, store_gigabytes=0.3),
            "north has 0.3 GB for messages, which must hold all slots submitted in advance "
            "(docs/scale-out.md); start it with a larger --object-store-memory.",
        ),
    ],
)
def test_what_would_go_wrong_on_a_node_is_a_sentence(node: Node, sentence: str) -> None:
    assert advice_on([replace(GOOD, name="south"), node], True, HERE) == [sentence]


def test_a_probe_node_finds_versions() -> None:
    versions, trouble = probe_node(None)
    assert set(versions) == {"python", *PACKAGES} and trouble == ""
    assert versions["numpy"] == np.__version__


def test_a_folder_is_shared_where_its_mark_is_seen(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert probe_node(str(mark))[1] == (
        f"{tmp_path} is not the folder that this process sees; use a checkpoint folder that all "
        "nodes share at the same path."
    )
    mark.touch()
    assert probe_node(str(mark))[1] == ""


def test_a_folder_must_be_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "mark"
    mark.touch()
    monkeypatch.setattr(os, "access", lambda *_: False)  # for root may write anywhere
    assert probe_node(str(mark))[1] == (
        f"cannot write to {tmp_path}; grant write access to the user that runs Ray."
    )
