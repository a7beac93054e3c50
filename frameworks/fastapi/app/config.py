"""What the environment says, with the contract's defaults."""

import os

DATASET_PATH = os.environ.get("DATASET_PATH", "/data/dataset.json")
STATIC_DIR = os.environ.get("STATIC_DIR", "/data/static")
TLS_CERT = os.environ.get("TLS_CERT", "/certs/server.crt")
TLS_KEY = os.environ.get("TLS_KEY", "/certs/server.key")
DATABASE_URL = os.environ.get("DATABASE_URL")

HTTP_PORT = int(os.environ.get("ARENA_HTTP_PORT", "8080"))
TLS_PORT = int(os.environ.get("ARENA_TLS_PORT", "8081"))

# One process for each CPU this one may run on.
WORKERS = len(os.sched_getaffinity(0))
# The connections are for all processes of one port together.
POOL_SIZE = max(1, int(os.environ.get("DATABASE_MAX_CONN", "64")) // WORKERS)
