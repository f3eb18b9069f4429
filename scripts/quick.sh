#!/usr/bin/env bash
# The short round while working: vet, build, and the tests without their long cases. Installs nothing but Go modules.
. "$(dirname "$0")/lib.sh"

vet
build

section "short tests"
CGO_ENABLED=0 go test -short ./...

finish
