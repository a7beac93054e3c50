"""Which versions of HTTP are spoken."""

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class OnlyHttp1:
    """The parser takes a line without a version for HTTP/0.9."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["http_version"] == "0.9":
            answer = PlainTextResponse("HTTP/1.1 only", 505, {"connection": "close"})
            return await answer(scope, receive, send)
        return await self.app(scope, receive, send)
