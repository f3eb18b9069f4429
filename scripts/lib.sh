# Shared by the scripts of this folder: `. "$(dirname "$0")/lib.sh"`. It goes to the module's root, sets up Go's environment so that the
# caller's does not matter, and gives the scripts timed sections. It installs nothing.
set -euo pipefail
unset CDPATH
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v go >/dev/null || { echo "Go is not installed or not on PATH: see https://go.dev/doc/install" >&2; exit 2; }

# Go's own settings, whatever the caller has: no workspace above, no flags, this machine's system and processor.
# A clone that belongs to another user cannot be asked for its version; nothing that is built here is shipped, so it is not asked.
export GOFLAGS=-buildvcs=false GOWORK=off
unset GOOS GOARCH GOARM64 GOAMD64

started=$SECONDS
section_name= section_started=0 section_spent=0
clock=$(mktemp)
summary=() left_out=()

# section TITLE: ends the section before, if any, and begins one.
section() {
	section_end
	times >"$clock"
	section_name=$1 section_started=$SECONDS section_spent=$(spent)
	printf '\n== %s\n' "$1"
}

section_end() {
	[ -n "$section_name" ] || return 0
	times >"$clock"
	local line
	line=$(printf '%4ds %5ds of a processor  %s' $((SECONDS - section_started)) $(($(spent) - section_spent)) "$section_name")
	summary+=("$line")
	section_name=
}

# spent prints the seconds of processor time of all commands that have ended so far. In a pipe the shell would ask for its own.
spent() {
	awk 'NR == 2 { split($1, u, /[ms]/); split($2, k, /[ms]/); printf "%d", 60 * (u[1] + k[1]) + u[2] + k[2] }' "$clock"
}

# apt_install PACKAGE...: installs them with apt-get, one caller at a time.
apt_install() {
	(
		flock 9
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"
	) 9>"${TMPDIR:-/tmp}/volley-apt-get" >/dev/null
}

# leave_out WHAT WHY: notes a check that cannot be run here. On a build machine (CI=true) that is a failure.
leave_out() {
	printf 'left out: %s: %s\n' "$1" "$2"
	left_out+=("$1: $2")
	if [ "${CI:-}" = true ]; then
		echo "CI=true: nothing may be left out" >&2
		exit 1
	fi
}

# The lanes that run; that of FUNCTION has its process in pid_FUNCTION and what it says in the file said_FUNCTION. The bash of macOS has no maps.
lanes=

# beside FUNCTION: runs its sections beside those that follow, up to together FUNCTION. Many a section keeps one processor busy only, or waits for a network.
beside() {
	section_end
	local said
	said=$(mktemp)
	set -m # a process group of its own, to be ended as one
	(
		set +m
		summary=() left_out=() clock=$said.clock lanes=
		trap on_exit EXIT
		"$1"
		section_end
		printf '%s\n' "${summary[@]}" >"$said.sections"
		[ ${#left_out[@]} = 0 ] || printf '%s\n' "${left_out[@]}" >"$said.left"
	) >"$said" 2>&1 </dev/null &
	lanes="$lanes $1"
	printf -v "pid_$1" %s $!
	printf -v "said_$1" %s "$said"
	set +m
}

# together FUNCTION: waits for the sections that run beside, prints what they said, and fails where they failed.
together() {
	section_end
	local status=0 line said=said_$1 pid=pid_$1
	said=${!said}
	wait "${!pid}" || status=$?
	lanes=$(printf ' %s ' $lanes | sed "s/ $1 //")
	cat "$said"
	if [ $status = 0 ]; then
		while IFS= read -r line; do summary+=("$line"); done <"$said.sections"
		[ ! -e "$said.left" ] || while IFS= read -r line; do left_out+=("$line"); done <"$said.left"
	fi
	rm -f "$said" "$said".*
	return $status
}

# finish: prints how long each section took and what was left out.
finish() {
	section_end
	printf '\n== passed in %d s\n' $((SECONDS - started))
	printf '%s\n' "${summary[@]}"
	[ ${#left_out[@]} = 0 ] || printf 'left out: %s\n' "${left_out[@]}"
}

# Says which section failed when the script ends early.
on_exit() {
	local status=$?
	local lane pid said
	for lane in $lanes; do
		pid=pid_$lane said=said_$lane
		said=${!said}
		kill -- "-${!pid}" 2>/dev/null || true
		printf '\n== what ran beside (%s) had said\n' "$lane" >&2
		cat "$said" >&2
		rm -f "$said" "$said".*
	done
	rm -f "$clock"
	if [ $status != 0 ] && [ -n "$section_name" ]; then
		printf '\n== FAILED in "%s" after %d s\n' "$section_name" $((SECONDS - started)) >&2
	fi
}
trap on_exit EXIT

# The checks that more than one script runs.
house_rules() {
	section "house rules (internal/lint)"
	CGO_ENABLED=0 go test -count=1 -run '^TestHouse$' -v ./internal/lint
}

vet() {
	section "go vet"
	GOGC=400 CGO_ENABLED=0 go vet ./... # compilers that collect seldom take a sixth less, and the memory is there
}

# Builds the staticcheck that internal/tools/go.mod names, from the module cache, downloading it the first time.
staticcheck() {
	section "staticcheck"
	CGO_ENABLED=0 go tool -modfile=internal/tools/go.mod staticcheck ./...
}

build() {
	section "build without cgo"
	CGO_ENABLED=0 go build ./...
}

# The assembly is what its generator writes, no file less, and two more that are written by hand.
assembly() {
	section "assembly: made again, byte for byte"
	CGO_ENABLED=0 go vet -C internal/asmgen .
	local made
	made=$(mktemp -d)
	CGO_ENABLED=0 go run -C internal/asmgen . -out "$made"
	local f
	for f in $(git ls-files '*.s' '*_avx2_amd64.*' '*_avx512_amd64.*'); do
		case $f in
		collective/ticks_amd64.s | internal/release/release_amd64.s) ;; # by hand: see docs/decisions.md
		*) [ -e "$made/$f" ] || { echo "$f is written by no stem of internal/asmgen" >&2; return 1; } ;;
		esac
	done
	for f in "$made"/*/*/*; do
		diff -u "${f#"$made"/}" "$f" || { echo "run scripts/asm.sh generate and commit what it makes" >&2; return 1; }
	done
	rm -r "$made"
}
