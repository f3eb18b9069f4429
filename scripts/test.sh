#!/usr/bin/env bash
# Everything that must hold before a change goes in: house rules, vet, staticcheck, builds for every system, tests, tests under the race
# detector, and the main job with its answers checked. Stops at the first section that fails.
# Installs: Go modules into Go's module cache; CUDA's headers into .cuda (see gorgonia.sh); gcc and libc6-dev with apt-get where the race
# detector has no C compiler (see compiler.sh).
# CI=true makes leaving anything out a failure.
. "$(dirname "$0")/lib.sh"
. scripts/compiler.sh

go version
house_rules
vet
staticcheck
build

for target in linux/arm64 darwin/arm64 windows/amd64; do
	section "build for $target"
	GOOS=${target%/*} GOARCH=${target#*/} CGO_ENABLED=0 go build ./...
done

section "tests"
CGO_ENABLED=0 go test -timeout 20m ./...

section "tests under the race detector"
if c_compiler; then
	CGO_ENABLED=1 go test -race -timeout 40m ./...
else
	leave_out "tests under the race detector" "$why_no_compiler"
fi

section "CUDA through gorgonia.org/cu"
bash scripts/gorgonia.sh

# The program ends with a status other than 0 when an answer is wrong or the devices disagree.
section "main job: volley bench flights"
answers=$(CGO_ENABLED=0 go run ./cmd/volley bench flights --json)
printf '%s\n' "$answers"
case $answers in
*'"answer"'*) ;;
*)
	echo "volley bench flights printed no answer" >&2
	exit 1
	;;
esac

finish
