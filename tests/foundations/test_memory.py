import os
import resource
from pathlib import Path

import pytest

from grassvine.foundations import memory
from grassvine.foundations.errors import DataError, InputError
from grassvine.foundations.memory import available_memory, require_address_space, require_memory

GB = 10**9
MEMINFO = "MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n"


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in {"proc/meminfo": MEMINFO, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


GROUPS = "sys/fs/cgroup"
MACHINES: dict[str, tuple[dict[str, str], int]] = {
    "no groups": ({}, 8_192_000_000),
    "version 2": (
        {
            "proc/self/cgroup": "0::/a/b\n",
            f"{GROUPS}/a/b/memory.max": "max\n",
            f"{GROUPS}/a/b/memory.current": "100\n",
            f"{GROUPS}/a/memory.max": "3000\n",
            f"{GROUPS}/a/memory.current": "1000\n",
            f"{GROUPS}/a/memory.stat": "anon 900\ninactive_file 100\n",
        },
        2100,
    ),
    "version 1": (
        {
            "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/x\n",
            f"{GROUPS}/memory/x/memory.limit_in_bytes": "5000\n",
            f"{GROUPS}/memory/x/memory.usage_in_bytes": "1000\n",
            f"{GROUPS}/memory/x/memory.stat": "total_inactive_file 50\n",
        },
        4050,
    ),
    "group that is full": (
        {
            "proc/self/cgroup": "0::/\n",
            f"{GROUPS}/memory.max": "1000\n",
            f"{GROUPS}/memory.current": "2000\n",
        },
        0,
    ),
}


@pytest.mark.parametrize("name", MACHINES)
def test_the_least_of_all_limits_is_available(tmp_path: Path, name: str) -> None:
    files, expected = MACHINES[name]
    assert available_memory(machine(tmp_path, files)) == expected


def test_a_system_that_does_not_report_refuses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert available_memory(tmp_path) is None
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    require_memory(10**18, "it")


def limit_to(monkeypatch: pytest.MonkeyPatch, n_bytes: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (n_bytes, n_bytes))


def test_a_limit_on_address_space_counts_without_what_libraries_reserve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = machine(tmp_path, {"proc/self/statm": "1 1 1 1 0 1 0\n"})
    limit_to(monkeypatch, memory._reserved() + GB)
    assert available_memory(root) == GB
    in_use = memory._reserved() // os.sysconf("SC_PAGE_SIZE") + 1000
    (root / "proc/self/statm").write_text(f"{in_use} 1 1 1 0 1 0\n")
    assert GB - 1001 * os.sysconf("SC_PAGE_SIZE") <= (available_memory(root) or 0) < GB


def test_a_need_above_the_share_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 10 * GB)
    require_memory(8 * GB, "it", DataError)
    with pytest.raises(
        DataError,
        match=r"^it needs about 8.1 GB of memory, more than 80% of the 10.0 GB available; use",
    ):
        require_memory(81 * GB // 10, "it", DataError)


def test_an_address_space_too_small_for_the_libraries_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    require_address_space()
    limit_to(monkeypatch, 9 * GB // 10)
    with pytest.raises(InputError, match=r"limited to 0.9 GB, but the libraries .* raise the li"):
        require_address_space()
