"""Four organisations on simulated hosts, which learn from MovieLens-100K by the command line.

a and b listen. c is behind a firewall that lets nobody in. d has a cable to a gateway only, where a
proxy waits for CONNECT. Packets between the hosts of a, b, c and the gateway take their time.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from tests.cluster.hosts import REPOSITORY, AgentActor, host_behind, simulated_hosts
from tests.cluster.watching import await_text

NAMES = ("a", "b", "c", "d")
PORT, PROXY_PORT = 7443, 3128
COMMAND = (sys.executable, "-c", "from grassvine.cli import main; main()")
QUICK = 120.0  # seconds for a command that takes two where the machine is idle
PROXY_VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy", "no_proxy", "no_grpc_proxy")


@dataclass(frozen=True)
class House:
    """A member's host, its folder, and what its environment has to have."""

    host: AgentActor
    folder: Path
    environment: Mapping[str, str]

    def grassvine(self, *arguments: object) -> dict[str, Any]:
        """Run a command to its end; return what it prints."""
        command = [*COMMAND, *map(str, arguments), "--json"]
        done = self.host.run(self._here(command), timeout=QUICK, env=self.environment)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    @contextmanager
    def joining(
        self, words: str, command: Sequence[str] = COMMAND
    ) -> Iterator[subprocess.Popen[str]]:
        """Have the member take part until the block is left; it says what it does in join.log."""
        join = ["peer", "join", "plan.toml", "ratings.csv", "-o", "model", "--folder", "private"]
        asked = self._here([*command, *join, "--words", words, "--json"])
        with (
            (self.folder / "join.log").open("w") as log,
            self.host.running(
                asked, env=self.environment, stdout=subprocess.PIPE, stderr=log
            ) as process,
        ):
            yield process

    @property
    def bytes_sent(self) -> int:
        """The bytes of all frames that the member has sent in its last run."""
        status = json.loads((self.folder / "private" / "status.json").read_text())
        return int(status["bytes_sent"])

    def listens(self) -> bool:
        """Whether any process of the host listens to the network now."""
        tables = [Path(f"/proc/{self.host.anchor}/net/{name}") for name in ("tcp", "tcp6")]
        rows = [row.split() for table in tables for row in table.read_text().splitlines()[1:]]
        return any(row[3] == "0A" for row in rows)

    def _here(self, command: Sequence[str]) -> list[str]:
        return ["env", "-C", str(self.folder), *command]


@dataclass(frozen=True)
class Organisations:
    """The houses of a, b, c and d, and the log of the proxy."""

    houses: tuple[House, ...]
    proxy_log: Path

    def connects(self) -> list[str]:
        """Return the requests that the proxy has seen."""
        return self.proxy_log.read_text().splitlines()[1:]

    def draft(self, *options: object) -> dict[str, Any]:
        """Make identities, draft a plan at the first house, and give it to all; return it."""
        for house in self.houses:
            name = house.folder.name
            reach = ["--listen", f"{house.host.name}:{PORT}"] if name in "ab" else ["--dial-only"]
            house.grassvine("peer", "init", name, *reach, "--folder", "private")
        first = self.houses[0]
        for house in self.houses[1:]:
            shutil.copy(house.folder / f"{house.folder.name}.card", first.folder)
        plan = first.grassvine(
            *("peer", "plan", *[f"{name}.card" for name in NAMES], "--kind", "ratings"),
            *("--items", "items.csv", "--lowest", 1, "--highest", 5, *options, "-o", "plan.toml"),
        )
        for house in self.houses[1:]:
            shutil.copy(first.folder / "plan.toml", house.folder)
        return plan

    def divide(self, ratings: Path) -> None:
        """Divide the users of MovieLens among the houses, and write the catalogue."""
        rows = pl.read_csv(
            ratings, separator="\t", has_header=False, new_columns=["user", "item", "rating", "at"]
        ).drop("at")
        rows.select(pl.col("item").unique().sort()).write_csv(self.houses[0].folder / "items.csv")
        for number, house in enumerate(self.houses):
            own = rows.filter(pl.col("user") % len(self.houses) == number)
            own.write_csv(house.folder / "ratings.csv")


@contextmanager
def organisations(folder: Path, delay: float, congestion: str = "cubic") -> Iterator[Organisations]:
    """Make the hosts, with an empty folder for each house and the proxy at work.

    Linux calls ``cubic`` its default, but a machine may have chosen another.
    """
    plain = {key: value for key, value in os.environ.items() if key.lower() not in PROXY_VARIABLES}
    plain["PYTHONPATH"] = f"{REPOSITORY / 'src'}:{REPOSITORY}"
    with ExitStack() as stack:
        hosts = stack.enter_context(simulated_hosts(4, folder, delay=delay, firewalled=["h2"]))
        for host in hosts:
            host.congest(congestion)
        gateway = hosts[3]
        inside = stack.enter_context(host_behind(gateway, "inside", folder))
        log = folder / "proxy.log"
        serve = [sys.executable, "-m", "tests.cluster.connect_proxy", str(PROXY_PORT)]
        file = stack.enter_context(log.open("w"))
        proxy = stack.enter_context(gateway.running(serve, env=plain, stdout=file))
        await_text(proxy, log, "ready\n", QUICK)
        behind = {**plain, "https_proxy": f"http://gateway:{PROXY_PORT}"}
        houses = []
        for name, host in zip(NAMES, (*hosts[:3], inside), strict=True):
            (folder / name).mkdir()
            houses.append(House(host, folder / name, behind if host is inside else plain))
        yield Organisations(tuple(houses), log)
