#!/usr/bin/env bash
# Runs on the machine with the card, from the unpacked bundle of scripts/gpu-check; see docs/gpu-check.md. It needs bash and a CUDA driver; with
# python3 and CuPy or PyTorch it times those beside volley. What is not there is said and goes into the results. Installs nothing.
#
# usage: run.sh [--device cuda:0] [--rows 1e8] [--runs 5] [--rounds 3] [--only conformance,sanitizer,bench,peers,queries] [--ops sum,sort] [--scale 1] [--limit 3600] [--out results]
# Exit status: 0 when every part that could run passed, 1 when one failed, 2 for a wrong command line. Targets missed do not change it.
set -uo pipefail
unset CDPATH
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
bundle=$PWD

device=cuda:0 rows=1e8 runs=5 rounds=3 only=conformance,sanitizer,bench,peers,queries ops= scale=1 limit=3600 out=results
# Set by `gpu-check --dry-run` alone: tests to run, OpenCL devices that stand in for NVIDIA's, and NumPy for CuPy.
tests=${GPU_CHECK_TESTS:-} opencl=${GPU_CHECK_OPENCL:-NVIDIA} stand_in=${GPU_CHECK_STAND_IN:-}
while [ $# -gt 0 ]; do
	case $1 in
	--device | --rows | --runs | --rounds | --only | --ops | --scale | --limit | --out)
		[ $# -ge 2 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
		declare "${1#--}=$2"
		shift 2
		;;
	*)
		sed -n 's/^# usage: /usage: /p' "$0" >&2
		exit 2
		;;
	esac
done
for part in ${only//,/ }; do
	[[ $part =~ ^(conformance|sanitizer|bench|peers|queries)$ ]] || { echo "run.sh: --only: there is no part $part" >&2; exit 2; }
done
[[ $scale =~ ^[0-9]*\.?[0-9]+$ ]] || { echo "run.sh: --scale is $scale, a number such as 1 or 0.1 is needed" >&2; exit 2; }
[[ $limit =~ ^[0-9]+$ ]] || { echo "run.sh: --limit is $limit, a number of seconds is needed" >&2; exit 2; }
[[ $device == cuda:* ]] || { echo "run.sh: --device is $device, a CUDA device such as cuda:0 is needed" >&2; exit 2; }

# The tests would build an emulator where no driver is named, and a device must be there.
export VOLLEY_CUDA_LIBRARY=${VOLLEY_CUDA_LIBRARY:-libcuda.so.1} VOLLEY_REQUIRE=cuda

# wheel_library VARIABLE NAME: libraries that pip installed, which the system does not find.
wheel_library() {
	[ -z "${!1:-}" ] || return 0
	ldconfig -p 2>/dev/null | grep -q "$2\.so" && return 0
	command -v python3 >/dev/null || return 0
	local found
	found=$(python3 -c 'import glob, sys; print("\n".join(f for p in sys.path for f in sorted(glob.glob(p + "/nvidia/*/lib/" + sys.argv[1] + ".so.*"), reverse=True)))' "$2" 2>/dev/null | sed -n 1p)
	[ -z "$found" ] || export "$1=$found"
}
wheel_library VOLLEY_NVRTC_LIBRARY libnvrtc
wheel_library VOLLEY_CUBLAS_LIBRARY libcublas
wheel_library VOLLEY_NCCL_LIBRARY libnccl

listed=$(./volley devices --json) || { echo "run.sh: volley does not run here" >&2; exit 1; }
card=$(sed -n "s/.*\"device\":\"$device\",\"description\":\"\([^\"]*\)\".*/\1/p" <<<"$listed")
if [ -z "$card" ]; then
	echo "run.sh: there is no $device here:" >&2
	echo "$listed" >&2
	exit 1
fi
folder=$out/$(tr 'A-Z' 'a-z' <<<"$card" | tr -cs 'a-z0-9\n' - | sed 's/^-*//; s/-*$//')
mkdir -p "$folder/logs" || exit 1
folder=$(cd "$folder" && pwd)
steps=$folder/steps.jsonl
touch "$steps" "$folder/bench.jsonl" "$folder/peers.jsonl" "$folder/queries.jsonl"
echo "$listed" >"$folder/devices.jsonl"
failed=0

# note STEP STATUS SECONDS WHY: a line about a step, for people and for the summary. Quotes and backslashes of WHY would break the JSON.
note() {
	local why
	why=$(tr -d '"\\' <<<"$4" | tr -s '[:space:][:cntrl:]' ' ' | cut -c1-300)
	printf '{"step":"%s","status":"%s","seconds":%s,"why":"%s"}\n' "$1" "$2" "$3" "${why% }" >>"$steps"
	printf '%-28s %-8s %5ss  %s\n' "$1" "$2" "$3" "${why% }"
}

# step NAME COMMAND...: runs it with its output in a log.
step() {
	local name=$1 start=$SECONDS log=$folder/logs/$1.log
	shift
	if "$@" >"$log" 2>&1; then
		note "$name" passed $((SECONDS - start)) ""
	else
		failed=1
		note "$name" failed $((SECONDS - start)) "see logs/$name.log: $(grep -E -- '--- FAIL|panic:|^volley:' "$log" || tail -n 1 "$log")"
	fi
}

# forget PATTERN: drops what an earlier run noted of a part, whose other parts stay.
forget() {
	grep -vE "^\{\"step\":\"($1)" "$steps" >"$steps.new"
	mv "$steps.new" "$steps"
}

missing() { note "$1" missing 0 "$2"; }
part() { [[ ,$only, == *,$1,* ]]; }

# in_package PACKAGE COMMAND...: where the package's tests look for their testdata.
in_package() { (cd "$bundle/tests/$1" && "${@:2}"); }

# tested PACKAGE TESTS: its tests, which fail when none ran.
tested() {
	local printed status=0
	printed=$(mktemp)
	in_package "$1" ./run.test -test.timeout "${limit}s" -test.v -test.run "$2" >"$printed" 2>&1 || status=$?
	cat "$printed"
	grep -q '^--- PASS' "$printed" || status=1
	rm "$printed"
	return $status
}

conformance() {
	forget 'driver-|conformance-|nccl'
	step driver-cuda tested device/cuda '^TestLoaded$'
	step conformance-cuda tested kernels/cuda "${tests:-.}"
	# Over as many GPUs as there are, at most four. With one GPU the only world is that of one rank: NCCL refuses a second one on it.
	if [ -n "${VOLLEY_NCCL_LIBRARY:-}" ] || ldconfig -p 2>/dev/null | grep -q 'libnccl\.so\.2'; then
		step nccl tested collective/transport/nccl '^(TestOperations|TestRefuses)$'
		step nccl-ondevice tested collective/ondevice '^(TestCUDA|TestNCCL|TestNCCLFloats|TestWithoutNCCL)$'
	else
		missing nccl "no libnccl.so.2, of the system or of pip's nvidia-nccl-cu12"
	fi
	local there
	there=$(grep '"device":"opencl:' <<<"$listed" | grep -v '"unavailable"' | grep -E "$opencl")
	if [ -z "$there" ]; then
		missing driver-opencl "no OpenCL device of NVIDIA: $(grep '"device":"opencl' <<<"$listed")"
		missing conformance-opencl "no OpenCL device of NVIDIA"
		return
	fi
	VOLLEY_REQUIRE=opencl step driver-opencl tested device/opencl '^TestDevice$'
	VOLLEY_REQUIRE=opencl step conformance-opencl tested kernels/opencl "${tests:-^TestConformance$}"
}

sanitizer() {
	forget sanitizer-
	local tool program=
	for tool in "$(command -v compute-sanitizer)" /usr/local/cuda/bin/compute-sanitizer; do
		[ -x "$tool" ] && program=$tool && break
	done
	for tool in memcheck racecheck; do
		if [ -z "$program" ]; then
			missing "sanitizer-$tool" "no compute-sanitizer on PATH or in /usr/local/cuda/bin"
			continue
		fi
		VOLLEY_KERNELTEST=tiny step "sanitizer-$tool" in_package kernels/cuda "$program" --tool "$tool" --error-exitcode 9 \
			./run.test -test.timeout "${limit}s" -test.run "${tests:-^TestConformance$}"
	done
}

# The link's GB/s one way: lanes by what PCI Express carries in each after its coding; nothing where nvidia-smi does not tell.
link() {
	local answer lane gen width
	answer=$(nvidia-smi -i "${device#cuda:}" --query-gpu=pcie.link.gen.max,pcie.link.width.max --format=csv,noheader 2>/dev/null) || return 0
	IFS=', ' read -r gen width <<<"$answer"
	case $gen in
	1) lane=250 ;; 2) lane=500 ;; 3) lane=985 ;; 4) lane=1969 ;; 5) lane=3938 ;; 6) lane=7563 ;;
	*) return 0 ;;
	esac
	[[ $width =~ ^[0-9]+$ ]] && echo "$((lane * width / 1000)).$(printf %03d $((lane * width % 1000)))"
}

# suite NAME OPTIONS...: records of one suite, all of them or those of --ops.
suite() { timeout "$limit" ./volley bench "$1" --device "$device" --rows "$rows" --runs "$runs" --json "${@:2}" >>"$folder/bench.jsonl"; }

benches() {
	forget 'bench-|link|cublas'
	: >"$folder/bench.jsonl"
	local carries
	carries=$(link)
	[ -n "$carries" ] || missing link "nvidia-smi does not tell the generation and width of the PCI Express link"
	# One at a time, so that a failure of one leaves the others.
	step bench-columnar suite columnar ${ops:+--ops "$ops"}
	step bench-gemm suite gemm
	step bench-transfer suite transfer --link "${carries:-0}"
	grep -q '"engine":"cublas"' "$folder/bench.jsonl" || missing cublas "$(grep -h 'cublas is left out' "$folder/logs/bench-gemm.log" | sed -n 1p)"
}

peers() {
	forget peer
	: >"$folder/peers.jsonl"
	if ! command -v python3 >/dev/null; then
		missing peers "no python3"
		return
	fi
	local engine engines=()
	for engine in ${stand_in:-cupy torch}; do
		local why
		if why=$(python3 peers.py --probe "$engine" 2>&1); then
			engines+=("$engine")
		else
			missing "peer-$engine" "$(tail -n 1 <<<"$why")"
		fi
	done
	if [ ${#engines[@]} -gt 0 ]; then
		step peers python3 peers.py --volley ./volley --device "$device" --rows "$rows" --runs "$runs" --rounds "$rounds" \
			--ops "$ops" --limit "$limit" --out "$folder/peers.jsonl" "${engines[@]}"
	fi
}

# whole SUITE OPTIONS...: records of whole queries, on the CPU and then on the card, whose answers are held against each other.
whole() { timeout "$limit" ./volley bench "$1" --device "cpu,$device" --runs "$runs" --json "${@:2}" >>"$folder/queries.jsonl"; }

# make_tables FOLDER: TPC-H's tables of the scale, whole or not at all.
make_tables() {
	[ -d "$1" ] && return 0
	rm -rf "$1.new"
	timeout "$limit" ./tpchgen-cli parquet -s "$scale" --output-dir "$1.new" && mv "$1.new" "$1"
}

queries() {
	forget 'queries-'
	: >"$folder/queries.jsonl"
	step queries-flights whole flights --data testdata/flights/flights-1m.parquet
	local tables=testdata/tpch of=0.01
	if [ "$scale" = "$of" ]; then
		: # the bundle has these tables, with answers that are known
	elif [ -x ./tpchgen-cli ]; then
		step queries-tables make_tables "$bundle/tables-$scale"
		[ ! -d "$bundle/tables-$scale" ] || tables=$bundle/tables-$scale of=$scale
	else
		missing queries-tables "the bundle was made without tpchgen-cli: TPC-H runs at scale $of, not $scale"
	fi
	step queries-tpch whole tpch --data "$tables" --scale "$of"
	step queries-files whole tpch --data "$tables" --scale "$of" --from files
}

echo "$card ($device), $rows rows; results in $folder"
part conformance && conformance
part sanitizer && sanitizer
part bench && benches
part peers && peers
part queries && queries
./summary "$folder" | tee "$folder/summary.txt" || failed=1
exit $failed
