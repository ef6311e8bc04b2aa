"""The application: the page, its files, and the stream of events that it follows."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from importlib import resources
from typing import Any

from grassvine.foundations.extras import load_extra
from grassvine.live.view import Seen, View, encoded

POLL_SECONDS = 0.5
MAX_STREAMS = 32
MAX_MESSAGES = 4  # per second to one page
FILES = {
    "": ("page.html", "text/html; charset=utf-8"),
    "live.css": ("live.css", "text/css; charset=utf-8"),
    "live.js": ("live.js", "text/javascript; charset=utf-8"),
    "figures.js": ("figures.js", "text/javascript; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
}
PLOTLY = "plotly.js"


class Feed:
    """Reads the run again and again, and wakes the streams when there is something new."""

    def __init__(self, view: View, poll_seconds: float = POLL_SECONDS):
        self.view = view
        self.ending: Callable[[], bool] = lambda: False  # whether the server is about to end
        self.n_streams = 0
        self.poll_seconds = poll_seconds
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Read until cancelled; files are small, so reading blocks nobody for long."""
        while True:
            if self.view.refresh() or self.ending():
                changed, self._changed = self._changed, asyncio.Event()
                changed.set()
            await asyncio.sleep(self.poll_seconds)

    async def messages(self) -> AsyncIterator[str]:
        """Yield everything, and then what is new."""
        seen, revision = Seen(), -1
        self.n_streams += 1
        try:
            while not self.ending():
                if revision != self.view.revision:
                    revision = self.view.revision
                    message, seen = self.view.message(seen)
                    yield encoded(message)
                    await asyncio.sleep(1.0 / MAX_MESSAGES)
                else:
                    await self._changed.wait()
        finally:
            self.n_streams -= 1


def create_app(feed: Feed) -> Any:
    """Return the application, without a guard."""
    starlette = load_extra("starlette.applications", "the live page", "live")
    responses = load_extra("starlette.responses", "the live page", "live")
    routing = load_extra("starlette.routing", "the live page", "live")
    sse = load_extra("sse_starlette.sse", "the live page", "live")
    files = {name: (_asset(file), kind) for name, (file, kind) in FILES.items()}
    files[PLOTLY] = (plotly_script(), "text/javascript; charset=utf-8")

    def sends(content: bytes, kind: str) -> Callable[[Any], Any]:
        async def send(request: Any) -> Any:
            return responses.Response(content, headers={"Content-Type": kind})

        return send

    async def run(request: Any) -> Any:
        message, _ = feed.view.message(Seen())
        kind = {"Content-Type": "application/json"}
        return responses.Response(encoded(message), headers=kind)

    async def events(request: Any) -> Any:
        if feed.n_streams >= MAX_STREAMS:
            return responses.Response("Too many pages are open.\n", status_code=503)
        return sse.EventSourceResponse(({"data": one} async for one in feed.messages()), ping=15)

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        reading = asyncio.create_task(feed.run())
        try:
            yield
        finally:
            reading.cancel()

    routes = [
        *(routing.Route(f"/{name}", sends(*content)) for name, content in files.items()),
        routing.Route("/run.json", run),
        routing.Route("/events", events),
    ]
    app = starlette.Starlette(routes=routes, lifespan=lifespan)
    app.router.redirect_slashes = False  # a redirection would name a host
    return app


def plotly_script() -> bytes:
    """Return the plotting library for browsers, which its Python package contains."""
    package = load_extra("plotly", "the live page", "live")
    return (resources.files(package) / "package_data" / "plotly.min.js").read_bytes()


def _asset(name: str) -> bytes:
    return (resources.files("grassvine.live") / "assets" / name).read_bytes()
