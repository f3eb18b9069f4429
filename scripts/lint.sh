#!/usr/bin/env bash
# Everything that reads the code without running it. Installs nothing but Go modules.
. "$(dirname "$0")/lib.sh"
. scripts/checks.sh

house_rules
vet
staticcheck
finish
