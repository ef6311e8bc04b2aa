"""What is refused before the page is asked: other methods, hosts and tokens."""

import hmac
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

# Styles of elements may be set, which the plotting library does; scripts come from here only, and
# no text becomes code.
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
_ENCODED = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """Passes on GET requests for a known host whose path begins with the token.

    Parameters
    ----------
    app : ASGI application
        Called with the path after the token.
    token : str
    hosts : collection of str
        The values of the Host header that are accepted, in lower case. A page of another site whose
        name was made to mean this computer sends its own name there.
    """

    def __init__(self, app: App, token: str, hosts: Collection[str]):
        self._app = app
        self._token = token.encode()
        self._hosts = {host.encode() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refused = self._refuses(scope)
            if refused is not None:
                await _answer(*refused, send)
            else:
                _, _, rest = scope["path"][1:].partition("/")
                within = {**scope, "path": f"/{rest}", "raw_path": None}
                await self._app(within, receive, _with_headers(send))
        else:  # a websocket
            await send({"type": "websocket.close", "code": 1008})

    def _refuses(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and the sentence of a refusal, or None."""
        hosts = [value.lower() for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 421, "This server answers to the host name of its address only."
        if scope["method"] != "GET":
            return 405, "Only GET is answered."
        given = scope["path"][1:].partition("/")[0]
        if not hmac.compare_digest(given.encode(errors="replace"), self._token):
            return 403, "The token is wrong: use the address that 'grassvine watch' printed."
        return None


async def _answer(status: int, sentence: str, send: Send) -> None:
    body = f"{sentence}\n".encode()
    headers = [
        *_ENCODED,
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        *([(b"allow", b"GET")] if status == 405 else []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name for name, _ in _ENCODED}
            own = [pair for pair in message.get("headers", ()) if pair[0].lower() not in names]
            message["headers"] = [*own, *_ENCODED]
        await send(message)

    return sending
