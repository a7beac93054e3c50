"""TLS as uvicorn sets it up, with the one protocol it speaks named by ALPN."""

import ssl
from collections.abc import Callable
from typing import Any

import uvicorn

from .config import TLS_CERT, TLS_KEY


def context(
    config: uvicorn.Config, default: Callable[[], ssl.SSLContext]
) -> ssl.SSLContext:
    made = default()
    made.set_alpn_protocols(["http/1.1"])
    return made


OPTIONS: dict[str, Any] = {
    "ssl_certfile": TLS_CERT,
    "ssl_keyfile": TLS_KEY,
    "ssl_context_factory": context,
}
