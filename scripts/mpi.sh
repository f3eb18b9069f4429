#!/usr/bin/env bash
# The transport over MPI, as ranks that the libraries' own launchers start: 2 and 4 of them, on Open MPI (shared memory, TCP on the loopback device)
# and MPICH (by the standard ABI and by its own), with all results checked, calls that do not match and a rank that is stopped, which the others must
# be told of within the deadline. On Open MPI also the death of a rank, which the others must survive.
# Ranks that have nothing but Open MPI's PMIx server, OMPI_* taken away, must meet through that, and give up on a rank that does not come; so must ranks
# of several machines that nothing else tells where, also of MPICH's launcher through its PMI server, and those of that launcher on one machine.
# Then every operation by every algorithm, with counts, between two ranks and in groups meets every fault of package faultinject, on both libraries.
# Tables on ranks: right answers on both libraries, and a rank that is killed (on Open MPI) or stopped (on both) in the middle of every operator, which the
# others survive; MPICH's launcher ends the job of a rank that is killed at once, if it is not told to let the others live.
# `mpi.sh test` has two ranks, every word once, two of the operators and no matrix of faults; exhaust.sh runs the whole.
# Installs nothing: scripts/collective_peers.sh openmpi,mpich does.
. "$(dirname "$0")/lib.sh"

dir=$scratch
CGO_ENABLED=0 go test -c -o "$dir/rank" ./collective/transport/mpi
CGO_ENABLED=0 go test -c -o "$dir/faults" ./collective/faultinject
CGO_ENABLED=0 go test -c -o "$dir/pmix" ./collective/transport/pmix
CGO_ENABLED=0 go test -c -o "$dir/tables" ./distributed
cat >"$dir/only" <<'END'
#!/usr/bin/env bash
for name in $(compgen -e); do
	case $name in OMPI_* | PMI_* | SLURM_* | VOLLEY_ADDRESS) unset "$name" ;; esac
done
exec "$@"
END
chmod +x "$dir/only"
program=$dir/rank
export VOLLEY_ADDRESS=mpi://
unset VOLLEY_MPI_LIBRARY

# ranks HOW-MANY WORD NAME COMMAND...: each of so many ranks must say the word, within two minutes.
ranks() {
	local want=$1 word=$2 name=$3 status=0 got
	shift 3
	timeout -k 5 110 "$@" "$program" >"$dir/out" 2>"$dir/err" || status=$?
	got=$(grep -c "^rank [0-9]* of [0-9]* $word\$" "$dir/out") || true
	if [ "$status" != 0 ] || [ "$got" != "$want" ]; then
		cat "$dir/out" "$dir/err" >&2
		echo "$name: $got of $want ranks say \"$word\", status $status" >&2
		exit 1
	fi
	echo "$name: each of $got ranks $word"
}

sizes="2 4"
[ "${1:-all}" != test ] || sizes=2
open=(mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none --mca pml ob1 --mca btl_tcp_if_include lo --mca btl)
# MPICH's launcher (5.0.2) kills the other ranks as soon as the first one has ended, also after MPI_Finalize, unless it is told to let them live.
mpich=(out/venv/mpich/bin/mpiexec -disable-auto-cleanup -bind-to none)
# A test and the word that its ranks say: all results; calls that do not match; a rank that is stopped (SIGSTOP), and wakes when the others went on.
for n in $sizes; do
	for test in work:works mismatch:agrees stopped:survives; do
		export VOLLEY_MPI_TEST=${test%:*}
		word=${test#*:}
		ranks $n "$word" "Open MPI, shared memory, $VOLLEY_MPI_TEST" "${open[@]}" self,vader -np $n
		ranks $n "$word" "Open MPI, TCP, $VOLLEY_MPI_TEST" "${open[@]}" self,tcp -np $n
		for library in libmpi_abi.so.1 libmpi.so.12; do
			VOLLEY_MPI_LIBRARY=$PWD/out/venv/mpich/lib/$library ranks $n "$word" "MPICH, $library, $VOLLEY_MPI_TEST" "${mpich[@]}" -n $n
		done
	done
done
CGO_ENABLED=0 go build -o "$dir/volley" ./cmd/volley
[ "${1:-all}" = test ] || timeout -k 5 120 "$dir/volley" bench collective --transports mpi --ops allreduce --sizes 8,64K --ranks 2,4 --runs 1 --json
VOLLEY_MPI_TEST=death ranks 3 survives "Open MPI, a rank killed" "${open[@]}" self,vader --enable-recovery -np 4
unset VOLLEY_MPI_TEST
program=$dir/pmix
for n in $sizes; do
	VOLLEY_PMIX_TEST=work ranks $n works "PMIx alone" "${open[@]}" self,vader -np $n "$dir/only"
done
# Ranks that leave the server and meet again, many times: the server (4.2.2) miscounts those who come back.
for n in $sizes; do
	VOLLEY_PMIX_TEST=again ranks $n works "PMIx alone, meeting again" "${open[@]}" self,vader -np $n "$dir/only"
done
# Ranks of several machines, which have a number and no place, meet through the server too; those of MPICH on one machine by the process that launched them.
cat >"$dir/apart" <<'END'
#!/usr/bin/env bash
unset VOLLEY_ADDRESS
export OMPI_COMM_WORLD_LOCAL_SIZE=1 OMPI_COMM_WORLD_LOCAL_RANK=0
exec "$@"
END
cat >"$dir/nothing" <<'END'
#!/usr/bin/env bash
unset VOLLEY_ADDRESS
"$@"
END
chmod +x "$dir/apart" "$dir/nothing"
for n in $sizes; do
	VOLLEY_PMIX_TEST=meet ranks $n works "Open MPI, several machines" "${open[@]}" self,vader -np $n "$dir/apart"
	VOLLEY_PMIX_TEST=meet ranks $n works "MPICH, nothing said" "${mpich[@]}" -n $n "$dir/nothing"
done
# Those of MPICH on several machines meet through their launcher's server of PMI: here two names of this machine. There the launcher ends ranks by
# SIGUSR1 when the first one has ended, and itself by SIGPIPE, if it is told to let them live.
for n in $sizes; do
	VOLLEY_PMIX_TEST=once ranks $n works "MPICH, several machines" out/venv/mpich/bin/mpiexec -bind-to none -hosts 127.0.0.1,127.0.0.2 -launcher fork -n $n env -u VOLLEY_ADDRESS
done
VOLLEY_PMIX_TEST=absent ranks 3 survives "PMIx alone, a rank that does not come" "${open[@]}" self,vader -np 3 "$dir/only"
program=$dir/tables
# tables NUMBER WORD NAME HOW FIRST COUNT COMMAND...: each of so many ranks must say the word, when all have gone through COUNT of the steps (of
# "work": shapes of rows) from FIRST on.
tables() {
	local want=$1 word=$2 name=$3 how="$4 $5 $6"
	shift 6
	rm -rf "$dir/files"
	mkdir "$dir/files"
	VOLLEY_DISTRIBUTED_TEST="$how $dir/files" ranks "$want" "$word" "$name, tables, $how" "$@"
}
standard=$PWD/out/venv/mpich/lib/libmpi_abi.so.1
steps=$(VOLLEY_DISTRIBUTED_TEST="count 0 0 -" "$program")
shapes=7 first=0 last=$steps
# Each commit takes the step after its parent's, and a commit the same step always.
[ "${1:-all}" != test ] || shapes=1 first=$(($(git rev-list --count HEAD) % (steps - 2))) last=$((first + 2))
echo "tables: steps $first to $((last - 1)) of $steps"
for n in $sizes; do
	tables $n works "Open MPI" work 0 $shapes "${open[@]}" self,vader -np $n
	for library in libmpi_abi.so.1 libmpi.so.12; do
		VOLLEY_MPI_LIBRARY=$PWD/out/venv/mpich/lib/$library tables $n works "MPICH, $library" work 0 $shapes "${mpich[@]}" -n $n
	done
done
for ((i = first; i < last; i += 2)); do # two ranks of four die in a job
	tables 2 survives "Open MPI" kill $((i < steps - 2 ? i : steps - 2)) 2 "${open[@]}" self,vader --enable-recovery -np 4
done
for ((i = first; i < last; i += 8)); do
	count=$((last - i < 8 ? last - i : 8))
	tables 3 survives "Open MPI" stop $i $count "${open[@]}" self,vader -np 3
	[ "${1:-all}" = test ] || VOLLEY_MPI_LIBRARY=$standard tables 3 survives "MPICH" stop $i $count "${mpich[@]}" -n 3
done
mkdir -p "$dir/files"
status=0
VOLLEY_MPI_LIBRARY=$standard VOLLEY_DISTRIBUTED_TEST="kill $first 1 $dir/files" timeout -k 5 30 "${mpich[0]}" -bind-to none -n 3 "$program" >"$dir/out" 2>&1 ||
	status=$?
if [ "$status" = 0 ] || [ "$status" = 124 ] || grep -q survives "$dir/out"; then
	cat "$dir/out" >&2
	echo "MPICH: a rank that is killed ends its job with status $status" >&2
	exit 1
fi
echo "MPICH: a rank that is killed ends the job"
[ "${1:-all}" != test ] || exit 0
export VOLLEY_FAULTINJECT_TEST=faults
program=$dir/faults
ranks 4 agrees "Open MPI, operations by faults" "${open[@]}" self,vader -np 4
VOLLEY_MPI_LIBRARY=$PWD/out/venv/mpich/lib/libmpi_abi.so.1 ranks 4 agrees "MPICH, operations by faults" "${mpich[@]}" -n 4
