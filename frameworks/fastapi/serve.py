"""Starts uvicorn, once for each port.

Only one port is asked at a time, so each has one worker for every CPU.
"""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
from typing import Any

import uvicorn

from app import config, tls


def run(port: int, options: dict[str, Any]) -> None:
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
        **options,
    )


def main() -> int:
    ports: list[tuple[int, dict[str, Any]]] = [(config.HTTP_PORT, {})]
    if os.path.exists(config.TLS_CERT) and os.path.exists(config.TLS_KEY):
        ports.append((config.TLS_PORT, tls.OPTIONS))
    spawn = multiprocessing.get_context("spawn")
    children = [spawn.Process(target=run, args=one) for one in ports]

    def stop(*_: object) -> None:
        """A stop does not wait for connections that never end."""
        for child in children:
            child.terminate()
        for child in children:
            child.join()
        # Skips what multiprocessing does at an ordinary end: all have ended.
        os._exit(0)

    for child in children:
        child.start()
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    print(f"listening on http://0.0.0.0:{config.HTTP_PORT}", flush=True)
    multiprocessing.connection.wait([child.sentinel for child in children])
    print("a server ended", file=sys.stderr, flush=True)
    for child in children:
        child.terminate()
    return 1


if __name__ == "__main__":
    sys.exit(main())
