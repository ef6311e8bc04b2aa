"""Serve the page: in this thread until it is interrupted, or beside a command that learns."""

import re
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grassvine.foundations.errors import Option, PlanError
from grassvine.foundations.extras import load_extra
from grassvine.live.app import Feed, create_app
from grassvine.live.guard import Guard
from grassvine.live.summary import follow
from grassvine.live.view import View

LOOPBACK = "127.0.0.1"
_TOKEN = re.compile("[A-Za-z0-9_-]{16,200}")
LAST_SECONDS = 2.0  # for pages to take the end of a run


class LiveServer:
    """A server of one run's page.

    Parameters
    ----------
    run : Path
        The run folder, which may not be there yet.
    host : str, default="127.0.0.1"
        Where to listen; other computers reach the page only if this is told.
    port : int, default=0
        0 for any that is free.
    token : str, optional
        The secret in the address; random if omitted.
    """

    def __init__(self, run: Path, host: str = LOOPBACK, port: int = 0, token: str | None = None):
        uvicorn = load_extra("uvicorn", "the live page", "live")
        if token is not None and not _TOKEN.fullmatch(token):
            raise PlanError(
                Option("token"), " must have at least 16 letters, digits, '_' or '-'; omit it."
            )
        token = token or secrets.token_urlsafe(24)
        self.feed = Feed(View(follow(run), run.resolve().name))
        self.feed.view.refresh()
        self._socket = _listening(host, port)
        bound = self._socket.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        names = {shown.lower()}
        if host in (LOOPBACK, "localhost", "::1"):
            names |= {"127.0.0.1", "localhost", "[::1]"}
        hosts = {f"{name}:{bound}" for name in names} | (names if bound == 80 else set())
        self.address = f"http://{shown}:{bound}/{token}/"
        self._server = uvicorn.Server(
            uvicorn.Config(
                Guard(create_app(self.feed), token, hosts),
                log_level="critical",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                timeout_graceful_shutdown=3,
            )
        )
        self.feed.ending = lambda: self._server.should_exit

    def run(self) -> None:
        """Serve until interrupted."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """End :meth:`run`."""
        self._server.should_exit = True

    def close(self) -> None:
        """Stop listening, if it does not run."""
        self._socket.close()

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Serve in a thread while the enclosed block runs, and until pages have taken the end."""
        thread = threading.Thread(target=self.run, name="grassvine-live", daemon=True)
        thread.start()
        try:
            yield
        finally:
            if self.feed.n_streams:
                time.sleep(LAST_SECONDS)
            self.stop()
            thread.join(2 * LAST_SECONDS)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
        opened.listen()
    except OSError as cause:
        opened.close()
        raise PlanError(
            f"{host}:{port} cannot be listened at ({cause.strerror or cause}); choose another ",
            Option("port"),
            ", or omit it.",
        ) from None
    return opened
