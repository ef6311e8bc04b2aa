"""``grassvine watch``: the live page of a run, and ``--live`` of commands that learn."""

import os
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grassvine.cli.output import print_messages

if TYPE_CHECKING:
    from grassvine.live.serve import LiveServer

Live = Annotated[
    bool,
    typer.Option(
        "--live", help="Show the progress on a page in the browser (extra 'live'), until the end."
    ),
]


def watch(
    run: Annotated[
        Path,
        typer.Argument(
            help="Run folder, which may not be there yet, or the private folder of a member.",
            show_default=False,
        ),
    ],
    host: Annotated[
        str,
        typer.Option(
            metavar="HOST",
            help="Address of this computer to listen at; others can read the page if it is not "
            "that of the loopback.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen at; 0 for any that is free.")
    ] = 0,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            envvar="GRASSVINE_WATCH_TOKEN",
            help="Secret in the address, to keep the address of an earlier page; random if "
            "omitted.",
            show_default=False,
        ),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Serve a page that follows a run, while it goes on and after it ended; Ctrl-C ends it."""
    from grassvine.live.serve import LiveServer

    server = LiveServer(run, host, port, token)
    show_address(server, browser=browser)
    server.run()


def require_live() -> None:
    """Raise if the libraries of the page are not installed, before anything long begins."""
    from grassvine.foundations.extras import load_extra

    for module in ("starlette", "sse_starlette", "uvicorn", "plotly"):
        load_extra(module, "the live page", "live")


@contextmanager
def live_page(run: Path, *, wanted: bool) -> Iterator[None]:
    """Serve the page of a run while the enclosed block learns, if that is wanted."""
    if not wanted:
        yield
        return
    from grassvine.live.serve import LiveServer

    server = LiveServer(run)
    show_address(server, browser=True)
    with server.beside():
        yield


def show_address(server: "LiveServer", *, browser: bool) -> None:
    """Print the address of a page, and open it where there is a screen."""
    print_messages([f"live page: {server.address}"])
    if browser and _has_screen():
        webbrowser.open(server.address)


def _has_screen() -> bool:
    """Return whether a browser would have a window, and not take the terminal."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
