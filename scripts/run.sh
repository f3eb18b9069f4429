#!/usr/bin/env bash
# Runs the volley command from the source with the given arguments: scripts/run.sh bench flights. Installs nothing but Go modules.
. "$(dirname "$0")/lib.sh"

CGO_ENABLED=0 exec go run ./cmd/volley "$@"
