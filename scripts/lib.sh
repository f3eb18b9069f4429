# Shared by the scripts of this folder: `. "$(dirname "$0")/lib.sh"`. It goes to the module's root, sets up Go's environment so that the
# caller's does not matter, and gives the scripts timed sections. It installs nothing.
set -euo pipefail
unset CDPATH
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v go >/dev/null || { echo "Go is not installed or not on PATH: see https://go.dev/doc/install" >&2; exit 2; }

# Go's own settings, whatever the caller has: no workspace above, no flags, this machine's system and processor. Without the clone's path in
# what is compiled (-trimpath) all clones share Go's build cache. A clone that belongs to another user cannot be asked for its version, so none is: what is
# installed (`make install`, the wheel) has its version from Release in volley.go.
export GOFLAGS='-buildvcs=false -trimpath' GOWORK=off
unset GOOS GOARCH GOARM64 GOAMD64

# Python keeps what it has compiled. Without that each process compiles all that it imports anew: TensorFlow's takes ten seconds.
unset PYTHONDONTWRITEBYTECODE

# Virtual environments, compilers and other downloads, each by its version. All clones of a user share them.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/volley

started=$SECONDS
section_name= section_started=0 section_spent=0
scratch=$(mktemp -d) # for all that a script writes and needs no longer; removed when it ends, however it ends
clock=$scratch/clock
summary=() left_out=() over=() job_times=()

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

# seldom_collect: compilers and tests that collect garbage seldom take a tenth less time, and up to the limit the memory is there. Not for what measures.
seldom_collect() { export GOGC=400 GOMEMLIMIT=3GiB; }

# leave_out WHAT WHY: notes a check that cannot be run here. On a build machine (CI=true) that is a failure.
leave_out() {
	printf 'left out: %s: %s\n' "$1" "$2"
	left_out+=("$1: $2")
	if [ "${CI:-}" = true ]; then
		echo "CI=true: nothing may be left out" >&2
		exit 1
	fi
}

# finish [OUTCOME]: prints how long each section took, slowest first, and what was left out.
finish() {
	section_end
	[ -z "${VOLLEY_JOB:-}" ] || return 0
	printf '\n== %s in %d s\n' "${1:-passed}" $((SECONDS - started))
	[ ${#summary[@]} = 0 ] || printf '%s\n' "${summary[@]}" | sort -r -n
	[ ${#job_times[@]} = 0 ] || { printf 'processor time of the jobs:\n' && printf '%s\n' "${job_times[@]}" | sort -r -n; }
	[ ${#over[@]} = 0 ] || printf 'over budget: %s\n' "${over[@]}"
	[ ${#left_out[@]} = 0 ] || printf 'left out: %s\n' "${left_out[@]}"
}

# keep COMMAND...: runs it, and prints what it printed even if it fails; kept has that too.
kept=
keep() {
	local status=0
	kept=$("$@") || status=$?
	printf '%s\n' "$kept"
	return $status
}

# raced COMMAND...: a race. It fails where an answer is wrong, and here also where an engine failed at what it has.
raced() {
	keep env CGO_ENABLED=0 "$@"
	case $kept in
	*': failed: '* | *'its process ended'*)
		echo "an engine failed at an operation that it has" >&2
		exit 1
		;;
	esac
}

# Says which section failed when the script ends early. A script that a job runs leaves its sections to the job's (see jobs.sh).
on_exit() {
	local status=$?
	if [ -n "${VOLLEY_JOB:-}" ]; then
		[ ${#summary[@]} = 0 ] || printf '%s\n' "${summary[@]}" >>"$VOLLEY_JOB.sections"
		[ ${#left_out[@]} = 0 ] || printf '%s\n' "${left_out[@]}" >>"$VOLLEY_JOB.left"
	fi
	if [ $status != 0 ] && [ -n "$section_name" ]; then
		printf '\n== FAILED in "%s" after %d s\n' "$section_name" $((SECONDS - started)) >&2
	fi
	rm -rf "$scratch" 2>/dev/null || true # what is slow to end may still write
}
trap on_exit EXIT
