"""The page in a browser: follows a run to its end, and survives restarts of server and run."""

import math
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from tests.live.browser import Page, chromium
from tests.live.pages import TOKEN, serving
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.protocol import StepReport
from grassvine.runs.progress import (
    Begin,
    End,
    Incident,
    Members,
    Point,
    ProgressLog,
    ProgressWriter,
)
from grassvine.runs.progress.state import MAX_POINTS

for module in ("starlette", "sse_starlette", "uvicorn", "plotly"):
    pytest.importorskip(module, reason="the extra 'live' is not installed")

HOSTILE = '<img src=x onerror="document.title=1"><script>alert(1)</script>'


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def write_run(
    folder: Path, n_agents: int = 5, n_points: int = 40, names: tuple[str, ...] = ()
) -> ProgressLog:
    """Write a run that goes on."""
    network = gv.networks.ring(n_agents)
    rng = np.random.default_rng(0)
    log = ProgressLog(folder)
    log.add(
        Begin(
            run="ab",
            time=100.0,
            started=100.0,
            pid=os.getpid(),
            host=platform.node(),
            method="Gossip",
            n_agents=n_agents,
            n_slots=10 * n_points,
            one_cost=False,
            names=names,
            links=network.edges,
        )
    )
    for k in range(n_points):
        log.add(
            Point(
                time=100.0 + k,
                slot=10 * k,
                share=k / (2 * n_points),
                update=k,
                cost=10.0 + 1e3 * math.exp(-k / 10),
                rmse=1.0 + 1.0 / (1 + k),
                held_out=1.2 + 1.0 / (1 + k),
                bytes=1000 * k,
                messages=k,
                largest=30.0 / (1 + k),
                median=10.0 / (1 + k),
            )
        )
    states = "".join(rng.choice([*"wwiif"], n_agents))
    log.add(
        Members(
            time=100.0 + n_points,
            slot=10 * n_points,
            states=states,
            waits=tuple((k, (k + 1) % n_agents) for k in range(n_agents) if states[k] == "i"),
            updates=(n_points,) * n_agents,
            costs=tuple(rng.random(n_agents).tolist()),
            link_bytes=tuple(rng.integers(1, 10**6, len(network.edges)).tolist()),
        )
    )
    log.flush()
    return log


def test_the_page_follows_a_run_to_its_end(driver: Any, tmp_path: Path) -> None:
    parts = gv.datasets.split_users(ratings(), 4)
    plan = gv.Plan(N_ITEMS, 3, gv.networks.ring(4), gv.Gossip(max_iter=30))
    with serving(tmp_path) as address:
        page = Page(driver, address)
        page.until(lambda: page.text("#state") == "waiting for the run", "it does not wait")
        seen: list[str] = []

        def look(report: StepReport) -> None:
            if report.slot == plan.timetable.n_slots // 2 and not seen:
                writer.incident(f"something happened at slot {report.slot}")
                page.until(lambda: page.text("#state") == "running", "it does not run")
                page.until(lambda: page.text("#incidents li"), "it shows no incident")
                seen.append(page.text("#incidents li"))

        writer = ProgressWriter(tmp_path)
        result = gv.run(
            plan, [gv.CompletionProblem(part) for part in parts], observers=[writer, look]
        )
        page.until_state("finished")
        assert "something happened" in seen[0]
        assert page.text("#reason") == result.stop_reason and page.text("#left") == "100 %"
        assert "4 finished" in page.text("#legend")
        assert page.script("return run.summary.bytes") == result.bytes
        assert page.script("return document.querySelectorAll('#network .link').length") == 4
        assert page.errors() == []
        assert page.hosts() == {urlsplit(address).netloc}


def test_every_figure_has_a_table_behind_it(driver: Any, tmp_path: Path) -> None:
    write_run(tmp_path)
    with serving(tmp_path) as address:
        page = Page(driver, address)
        page.until_state("running")
        assert page.script("return document.querySelectorAll('section').length") == 6
        for section in ("network", "cost", "error", "agreement", "links"):
            rows = f"#{section}-section table tbody tr"
            assert page.script("return document.querySelector(arguments[0])", rows) is None
            summary = driver.find_element("css selector", f"#{section}-section summary")
            summary.send_keys("\ue007")  # Enter: by keyboard
            page.until(lambda rows=rows: page.text(rows), f"there is no table of {section}")  # type: ignore[misc]
        assert "40" in page.text("#agents tbody tr")


def test_curves_are_drawn_against_updates_bytes_or_seconds(driver: Any, tmp_path: Path) -> None:
    write_run(tmp_path)
    last = "return document.getElementById('cost').data[0].x.at(-1)"
    with serving(tmp_path) as address:
        page = Page(driver, address)
        page.until_state("running")
        assert page.script(last) == 39
        first = driver.find_element("css selector", "input[value=update]")
        first.send_keys("\ue015")  # arrow down: by keyboard
        page.until(lambda: page.script(last) == 39_000, "it is not drawn against bytes")
        driver.find_element("css selector", "input[value=bytes]").send_keys("\ue015")
        page.until(lambda: page.script(last) == 39, "it is not drawn against seconds")
        title = "return document.getElementById('cost').layout.xaxis.title.text"
        assert page.script(title) == "seconds"


def test_the_page_survives_a_restart_of_the_server(driver: Any, tmp_path: Path) -> None:
    log = write_run(tmp_path)
    with serving(tmp_path) as address:
        page = Page(driver, address)
        page.until_state("running")
    page.until(
        lambda: not driver.find_element("id", "connection").get_attribute("hidden"),
        "it does not say that the server is gone",
    )
    assert page.text("#state") == "running"  # what was known is still shown
    log.add(End(200.0, "finished", "converged"))
    log.flush()
    with serving(tmp_path, port=urlsplit(address).port or 0) as again:
        assert again == address
        page.until_state("finished")
        assert page.script("return document.getElementById('connection').hidden")


def test_the_page_survives_a_restart_of_the_run(driver: Any, tmp_path: Path) -> None:
    log = write_run(tmp_path)
    with serving(tmp_path) as address:
        page = Page(driver, address)
        page.until_state("running")
        log.add(End(200.0, "stopped", "from outside"))
        log.flush()
        page.until_state("stopped")
        write_run(tmp_path, n_agents=7, n_points=3)
        page.until_state("running")
        page.until(lambda: page.script("return run.curves.cost.length") == 3, "old curves stay")
        assert page.script("return document.querySelectorAll('#network .agent').length") == 7
        assert page.text("#reason") == "" and page.errors() == []


@pytest.mark.parametrize("path", ["/wrong-token-of-the-same-length/", "/"])
def test_a_wrong_token_shows_nothing(driver: Any, tmp_path: Path, path: str) -> None:
    write_run(tmp_path)
    with serving(tmp_path) as address:
        page = Page(driver, f"http://{urlsplit(address).netloc}{path}")
        assert "The token is wrong" in page.text("body") and "Gossip" not in page.text("body")


def test_a_foreign_host_shows_nothing(driver: Any, tmp_path: Path) -> None:
    """A name of another site that means this computer, as in DNS rebinding."""
    write_run(tmp_path)
    with serving(tmp_path) as address:
        port = urlsplit(address).port
        page = Page(driver, f"http://rebound.localhost:{port}/{TOKEN}/")
        assert "host name" in page.text("body") and "Gossip" not in page.text("body")


def test_hostile_names_stay_text(driver: Any, tmp_path: Path) -> None:
    log = write_run(tmp_path, n_agents=3, names=(HOSTILE, "javascript:alert(1)", "b" * 300))
    log.add(Incident(150.0, 1, HOSTILE))
    log.flush()
    with serving(tmp_path) as address:
        page = Page(driver, address)
        page.until_state("running")
        page.until(lambda: HOSTILE in page.text("#incidents"), "the incident is not shown")
        assert HOSTILE in page.text("#links") and HOSTILE in page.text("#network title")
        assert page.script("return document.querySelectorAll('img, main script').length") == 0
        assert page.script("return document.title").endswith(tmp_path.name)
        assert page.script("return document.documentElement.scrollWidth <= innerWidth")
        assert page.errors() == []


@pytest.mark.parametrize(
    ("width", "dark"),
    [
        (400, False),
        (1400, True),
        pytest.param(400, True, marks=pytest.mark.slow),
        pytest.param(1400, False, marks=pytest.mark.slow),
    ],
)
def test_hundreds_of_agents_fit_the_screen(
    driver: Any, tmp_path: Path, width: int, dark: bool
) -> None:
    log = write_run(tmp_path, n_agents=300, n_points=MAX_POINTS - 1)
    with serving(tmp_path) as address:
        page = Page(driver, address)
        page.resize(width, 900, dark=dark)
        page.until_state("running")
        page.until(
            lambda: page.script("return +document.documentElement.dataset.drawn") >= 1000,
            "the curves are not drawn",
        )
        assert page.script("return document.documentElement.scrollWidth") == width
        lengths = page.script(
            "return ['cost', 'error', 'agreement'].flatMap("
            "(name) => document.getElementById(name).data.map((one) => one.x.length))"
        )
        assert max(lengths) <= MAX_POINTS and len(lengths) == 5
        sizes = page.script(
            "return [...document.querySelectorAll('#network .agent')]"
            ".map((one) => one.getBoundingClientRect().width)"
        )
        assert len(sizes) == 300 and min(sizes) >= 3  # pixels
        if width == 1400:
            assert page.script("return document.documentElement.scrollHeight") <= 900
        assert len(log.progress.points) <= MAX_POINTS
        assert page.errors() == []
