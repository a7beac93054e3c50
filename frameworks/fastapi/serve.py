"""Starts uvicorn, once for each port.

Only one port is asked at a time, so each has one worker for every CPU.
"""

import os
import signal
import subprocess
import sys
from typing import Any

import uvicorn

from app import config, tls

PORTS: dict[str, tuple[int, dict[str, Any]]] = {
    "http": (config.HTTP_PORT, {}),
    "tls": (config.TLS_PORT, tls.OPTIONS),
}


def serve(name: str) -> None:
    port, options = PORTS[name]
    uvicorn.run(
        "app.main:app",
        host="0.0.0.0",
        port=port,
        workers=config.WORKERS,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
        # Thousands of clients come at once.
        backlog=4096,
        # A worker that has to wait for its CPU is not a dead one.
        timeout_worker_healthcheck=60,
        # A stop does not wait for connections that never end.
        timeout_graceful_shutdown=0,
        **options,
    )


def main() -> int:
    names = ["http"]
    if os.path.exists(config.TLS_CERT) and os.path.exists(config.TLS_KEY):
        names.append("tls")
    children: list[subprocess.Popen] = []

    def stop(*_: object) -> None:
        for child in children:
            child.terminate()
        for child in children:
            child.wait()
        # Not by an exception: this may come in the middle of a wait.
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    for name in names:
        children.append(subprocess.Popen([sys.executable, __file__, name]))
    print(f"listening on http://0.0.0.0:{config.HTTP_PORT}", flush=True)
    os.wait()
    print("a server ended", file=sys.stderr, flush=True)
    for child in children:
        child.terminate()
    return 1


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1]) if len(sys.argv) > 1 else main())
