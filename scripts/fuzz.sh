#!/usr/bin/env bash
# Runs each native fuzz target for a bounded time. FUZZTIME is the time for each (default 10s); FUZZ is a regular expression that chooses
# among "folder name" pairs, such as FUZZ=storage. An input that fails is kept by Go under testdata/fuzz of its package, where the ordinary
# tests then run it: commit it with the repair. Installs nothing but Go modules.
. "$(dirname "$0")/lib.sh"

# internal/lint has none: its tests hold Go text that looks like one.
targets=$(grep -rE --include='*_test.go' --exclude-dir=lint '^func Fuzz[A-Z][A-Za-z0-9_]*\([a-z]+ \*testing\.F\)' . |
	sed -E 's|^\./(.*)/[^/]*_test\.go:func (Fuzz[A-Za-z0-9_]*).*|\1 \2|; s|^\./[^/]*_test\.go:func (Fuzz[A-Za-z0-9_]*).*|. \1|' |
	grep -E -- "${FUZZ:-.}" | sort) || true
[ -n "$targets" ] || { echo "no fuzz target${FUZZ:+ matches $FUZZ}" >&2; exit 1; }

while read -r folder name; do
	section "$name in $folder, ${FUZZTIME:=10s}"
	cgo=0
	[ "$folder" != cgo ] || cgo=1 # the C interface is empty without
	CGO_ENABLED=$cgo go test -run '^$' -fuzz "^$name\$" -fuzztime "$FUZZTIME" "./$folder" </dev/null
done <<<"$targets"

finish
