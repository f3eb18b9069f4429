#!/usr/bin/env bash
# The long matrices, before a release and before work on their parts is called done: every test at its full extent, the race detector over all, every
# fault schedule, Intel's OpenCL runtime, Oclgrind, two OpenCL devices and two emulated cards, the drivers of go-gl and gorgonia.org, valgrind, each
# partner library and engine, and races against peers. One to two hours on two processors. What it installs: see test.sh, engines.sh, peers.sh and
# distributed_peers.sh; and oclgrind, valgrind, Intel's runtime, and tpchgen-cli and NumPy (see gpu-check).
# A job that fails does not end the others. What passed, and left nothing out, is written into bench/results/exhaust.txt: a paragraph a job, with the commit
# that passed it, so that EXHAUST="intel_long soak", which runs these jobs alone, brings theirs up to date.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
. scripts/checks.sh
. scripts/opencl.sh
. scripts/devices.sh
. scripts/tests.sh
. scripts/jobs.sh

driver_tags() {
	bash scripts/gorgonia.sh
	bash scripts/gogl.sh
}

bindings() { bash scripts/bindings.sh all; }

engines() { bash scripts/engines.sh all; }

# Every operation by every peer, at sizes that take seconds; the program fails where a result is not ours.
peers() {
	section "peers: results equal"
	if ! bash scripts/peers.sh; then
		leave_out "races against other libraries" "peers.sh could not install them"
		return
	fi
	raced go run ./cmd/volley bench columnar --peers --rows 1e5 --runs 1
	raced go run ./cmd/volley bench gemm --peers --rows 7e4 --runs 1
	raced go run ./cmd/volley bench tpch --peers --data testdata/tpch --scale 0.01 --runs 1
	section "tables on ranks beside other engines: results equal"
	if bash scripts/distributed_peers.sh; then
		raced go run ./cmd/volley bench distributed --peers --rows 2e4 --ranks 2 --runs 1
	else
		leave_out "races of tables on ranks against other engines" "distributed_peers.sh could not install them"
	fi
}

# Some sizes by every library, and all tests over both MPIs. Ranks wait for each other by looking: they want the processors for themselves.
collective_peers() {
	section "collective operations: results equal"
	if bash scripts/collective_peers.sh; then
		raced go run ./cmd/volley bench collective --peers --sizes 8,4K,1M --ranks 2 --runs 1
		section "collective operations over MPI"
		bash scripts/mpi.sh
	else
		leave_out "races of collective operations, and those over MPI" "collective_peers.sh could not install the libraries"
	fi
}

soak() {
	section "random faults, 10,000 schedules"
	bash scripts/collective-soak 10000
	section "tables on ranks: a rank killed or stopped in every operator, on every transport"
	CGO_ENABLED=0 go test -count=1 -vet=off -timeout 40m ./distributed -run '^TestRankIsStruck' -schedules 101
	section "tables on ranks: random operators and kills, 1,000 programs"
	CGO_ENABLED=0 go test -count=1 -vet=off -timeout 40m ./distributed -run '^TestSoak' -schedules 1000
}

# job_passed JOB SECTIONS LEFT-OUT: replaces the job's paragraph in the file of results, if the job left nothing out.
results=bench/results/exhaust.txt
job_passed() {
	local new=$results.new
	if [ -s "$3" ]; then
		echo "-- not written into $results, since $1 left something out"
		return
	fi
	{
		[ ! -e $results ] || awk -v RS= -v ORS='\n\n' -v job="$1:" '$1 != job' $results
		printf '%s: commit %s%s, %s, %s processors of %s\n' "$1" "$commit" "$changes" "$(date -u +%Y-%m-%d)" "$(getconf _NPROCESSORS_ONLN)" "$machine"
		[ ! -e "$2" ] || sort -r -n "$2"
		echo
	} >$new
	mv $new $results
}
commit=$(git rev-parse --short=12 HEAD) changes=
[ -z "$(git status --porcelain -- . ":!$results")" ] || changes=' with changes'
machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)

go version
for one in checks all_races all_tests cuda_kernels cuda_tables cuda_long intel_long oclgrind_long opencl_kernels opencl_tables opencl_long bindings driver_tags \
	gpu_bundle ptx peers engines; do
	job 7200 "$one"
done
for one in all_rank_tests all_rank_races fault_races collective_peers soak main_job; do
	job_alone 7200 "$one"
done
go_on=1
run_jobs ${EXHAUST:-}
finish
