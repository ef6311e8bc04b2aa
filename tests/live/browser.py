"""Debian's Chromium without a screen, driven by Selenium; absent, tests skip and say why."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
WAIT_SECONDS = 60  # for a condition; a test that passes does not wait


@contextmanager
def chromium(folder: Path) -> Iterator[Any]:
    """Start a browser with an empty profile."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    programs = [shutil.which("chromium"), shutil.which("chromedriver")]
    if None in programs:
        pytest.skip("there is no browser; apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.chrome.service.Service(programs[1])
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()


class Page:
    """A page in the browser."""

    def __init__(self, driver: Any, address: str):
        self.driver = driver
        self.address = address
        driver.get_log("browser")
        driver.get_log("performance")
        driver.get(address)

    def until(self, what: Callable[[], object], told: str) -> None:
        """Wait until a condition holds."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, WAIT_SECONDS, poll_frequency=0.05).until(
            lambda driver: bool(what()), told
        )

    def script(self, text: str, *arguments: object) -> Any:
        """Return what a function's body in JavaScript returns."""
        return self.driver.execute_script(text, *arguments)

    def text(self, selector: str) -> str:
        """Return the text of an element, also if it is hidden."""
        return str(
            self.script("return document.querySelector(arguments[0])?.textContent ?? ''", selector)
        )

    def until_state(self, state: str) -> None:
        """Wait until the page says a state and has drawn it."""
        self.until(
            lambda: self.script("return document.documentElement.dataset.state") == state,
            f"the page does not say {state}",
        )

    def errors(self) -> list[str]:
        """Return the errors in the console."""
        return [
            one["message"] for one in self.driver.get_log("browser") if one["level"] == "SEVERE"
        ]

    def hosts(self) -> set[str]:
        """Return the hosts that were asked for anything since the page was opened."""
        import json

        events = [
            json.loads(one["message"])["message"] for one in self.driver.get_log("performance")
        ]
        addresses = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return {urlsplit(one).netloc for one in addresses if one.startswith(("http", "ws"))}

    def resize(self, width: int, height: int = 1000, *, dark: bool = False) -> None:
        """Set the size of the window and the colour scheme."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {
                "features": [
                    {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                    {"name": "prefers-reduced-motion", "value": "reduce"},
                ]
            },
        )
