#!/bin/sh
# Runs the server with the packages beside it, and no others.
set -eu
cd "$(dirname "$0")"
export PYTHONPATH=.packages PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1
exec python3 serve.py
