# Sourced after lib.sh. Runs jobs beside each other, as many at a time as VOLLEY_JOBS says (3: some jobs mostly wait). A job is a function whose sections are timed
# (see lib.sh); it runs in a shell of its own and prints when it ends. The first job that fails ends the others, and what it said is printed at once; with
# go_on=1 the others run to their end, and run_jobs prints the summary and fails then. Where there is a function job_passed, it is called with each job that
# passed, its sections, and the file of what it left out, which is there if it left out anything.
#
#	job SECONDS FUNCTION        adds a job; its budget is that much processor time
#	job_beside SECONDS FUNCTION one that waits for a network: it starts first and takes no job's place
#	job_alone SECONDS FUNCTION  one that wants the processors to itself: these run after the others, one at a time
#	run_jobs [FUNCTION...]      runs them all, or these alone; finish then prints the sections, slowest first, and the jobs that passed their budget
#
# The bash of macOS (3.2) has no maps and no wait -n.
jobs=() budgets=() manners=() pids=() failed=()
go_on=
jobs_folder=$scratch
export VOLLEY_ROUND=$scratch # what jobs share is made once a round: see library.sh

job() { add_job together "$@"; }
job_beside() { add_job beside "$@"; }
job_alone() { add_job alone "$@"; }

add_job() {
	manners+=("$1") budgets+=("$2") jobs+=("$3")
	pids+=("")
}

run_jobs() {
	section_end
	[ $# = 0 ] || keep_jobs "$@"
	trap 'end_jobs; on_exit' EXIT
	local i
	for i in "${!jobs[@]}"; do [ "${manners[i]}" != beside ] || start_job "$i"; done
	jobs_like together "${VOLLEY_JOBS:-3}"
	for i in "${!jobs[@]}"; do [ "${manners[i]}" != beside ] || await_jobs "$i"; done
	jobs_like alone 1
	[ ${#failed[@]} = 0 ] || { finish "FAILED (${failed[*]})" && exit 1; }
}

# keep_jobs FUNCTION...: forgets all other jobs.
keep_jobs() {
	local i one all=" ${jobs[*]} "
	for one in "$@"; do
		case $all in *" $one "*) ;; *) echo "unknown job $one: known are${all% }" >&2; exit 2 ;; esac
	done
	for i in "${!jobs[@]}"; do
		case " $* " in *" ${jobs[i]} "*) ;; *) manners[i]=none ;; esac
	done
}

# jobs_like MANNER AT-A-TIME: starts the next job whenever one of its manner has ended.
jobs_like() {
	local i now=()
	for i in "${!jobs[@]}"; do
		[ "${manners[i]}" = "$1" ] || continue
		while [ ${#now[@]} -ge "$2" ]; do
			sleep 0.1
			collect_jobs
			now=($(still_running ${now[@]+"${now[@]}"}))
		done
		start_job "$i"
		now+=("$i")
	done
	await_jobs ${now[@]+"${now[@]}"}
}

await_jobs() {
	while [ -n "$(still_running "$@")" ]; do
		sleep 0.1
		collect_jobs
	done
}

still_running() {
	local i
	for i in "$@"; do [ -z "${pids[i]}" ] || printf '%s ' "$i"; done
}

start_job() {
	local i=$1
	local place=$jobs_folder/$i
	printf -- '-- begins after %d s: %s\n' $((SECONDS - started)) "${jobs[i]}"
	set -m # a process group of its own, to be ended as one
	(
		set +m
		summary=() left_out=() clock=$place.clock
		export VOLLEY_JOB=$place
		trap 'job_ends "$?"' EXIT
		"${jobs[i]}"
	) >"$place.said" 2>&1 </dev/null &
	pids[i]=$!
	set +m
}

# job_ends STATUS: what the shell of a job leaves for run_jobs.
job_ends() {
	[ "$1" = 0 ] || echo "== FAILED in \"${section_name:-the job}\""
	section_end
	[ ${#summary[@]} = 0 ] || printf '%s\n' "${summary[@]}" >>"$place.sections"
	[ ${#left_out[@]} = 0 ] || printf '%s\n' "${left_out[@]}" >>"$place.left"
	echo "$1" >"$place.status.new"
	mv "$place.status.new" "$place.status"
}

# collect_jobs prints what jobs that have ended said, and fails where one failed or was killed.
collect_jobs() {
	local i place line status
	for i in "${!jobs[@]}"; do
		[ -n "${pids[i]}" ] || continue
		place=$jobs_folder/$i
		if [ ! -e "$place.status" ]; then
			! kill -0 "${pids[i]}" 2>/dev/null || continue
			[ -e "$place.status" ] || echo "137 (killed)" >"$place.status"
		fi
		wait "${pids[i]}" 2>/dev/null || true
		pids[i]=
		status=$(cat "$place.status")
		[ ! -e "$place.sections" ] || while IFS= read -r line; do summary+=("$line"); done <"$place.sections"
		[ ! -e "$place.left" ] || while IFS= read -r line; do left_out+=("$line"); done <"$place.left"
		if [ "$status" != 0 ]; then
			printf '\n== FAILED after %d s: %s, status %s; it said\n' $((SECONDS - started)) "${jobs[i]}" "$status" >&2
			cat "$place.said" >&2
			printf '\n== FAILED after %d s: %s\n' $((SECONDS - started)) "${jobs[i]}" >&2
			[ -n "$go_on" ] || exit 1
			failed+=("${jobs[i]}")
			continue
		fi
		printf '\n== passed: %s\n' "${jobs[i]}"
		cat "$place.said"
		job_budget "$i"
		! declare -F job_passed >/dev/null || job_passed "${jobs[i]}" "$place.sections" "$place.left"
	done
}

# job_budget JOB: notes a job that took more than its budget. That fails nothing: machines differ.
job_budget() {
	local took
	took=$(awk '{ s += $2 } END { printf "%d", s }' "$jobs_folder/$1.sections" 2>/dev/null) || took=0
	job_times+=("$(printf '%5ds of %ds  %s' "$took" "${budgets[$1]}" "${jobs[$1]}")")
	[ "$took" -le "${budgets[$1]}" ] || over+=("$(printf '%s took %d s of processor time, its budget is %d s' "${jobs[$1]}" "$took" "${budgets[$1]}")")
}

# end_jobs ends the jobs that run: each one's process group, and what has left it (`timeout` makes a group of its own) but has the job in its environment.
# macOS has no /proc: there it is the group alone.
end_jobs() {
	local i signal strays
	for i in "${!jobs[@]}"; do
		[ -z "${pids[i]}" ] || { kill -- "-${pids[i]}" && wait "${pids[i]}"; } 2>/dev/null || true
	done
	for signal in TERM KILL; do
		strays=$(for i in "${!jobs[@]}"; do [ -z "${pids[i]}" ] || processes_of "$i"; done)
		[ -n "$strays" ] || return 0
		kill -s "$signal" $strays 2>/dev/null || true
		sleep 1
	done
}

processes_of() { grep -lszxF "VOLLEY_JOB=$jobs_folder/$1" /proc/[0-9]*/environ | cut -d / -f 3 || true; }
