# Sourced after lib.sh. opencl succeeds when there is an OpenCL loader with a driver that runs on this machine's processor, and Oclgrind, a
# simulator that finds races and bad accesses. Where there is none it INSTALLS pocl-opencl-icd, oclgrind and, for scripts/gogl.sh, the
# headers (ocl-icd-opencl-dev) with apt-get, if this is Debian or alike and the user is root; otherwise it sets why_no_opencl and fails.
why_no_opencl=
oclgrind_driver=/usr/lib/oclgrind/liboclgrind-rt-icd.so

opencl() {
	opencl_found && return 0
	if ! command -v apt-get >/dev/null; then
		why_no_opencl="no PoCL, Oclgrind and OpenCL headers, and no apt-get to install them with"
		return 1
	fi
	if [ "$(id -u)" != 0 ]; then
		why_no_opencl="only root may install OpenCL: sudo apt-get install pocl-opencl-icd oclgrind ocl-icd-opencl-dev"
		return 1
	fi
	echo "installing pocl-opencl-icd, oclgrind and ocl-icd-opencl-dev with apt-get: the tests run OpenCL on the processor"
	export DEBIAN_FRONTEND=noninteractive
	if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends pocl-opencl-icd oclgrind ocl-icd-opencl-dev; } >/dev/null; then
		why_no_opencl="apt-get could not install pocl-opencl-icd, oclgrind and ocl-icd-opencl-dev"
		return 1
	fi
	opencl_found || { why_no_opencl="pocl-opencl-icd, oclgrind and ocl-icd-opencl-dev are installed, but not where they are looked for"; return 1; }
}

opencl_found() {
	[ -f /etc/OpenCL/vendors/pocl.icd ] && [ -f "$oclgrind_driver" ] && [ -f /usr/include/CL/opencl.h ]
}

# under_oclgrind COMMAND…: runs it with Oclgrind as the only driver. The simulator ends well whatever it finds; its log must be empty.
# Kernels are built as they are written: optimised, they use intrinsics of LLVM that Oclgrind 21.10 has not got (rotations, abs, overflows).
under_oclgrind() {
	local folder status=0
	folder=$(mktemp -d)
	echo "$oclgrind_driver" >"$folder/oclgrind.icd"
	OCL_ICD_VENDORS=$folder OCLGRIND_DATA_RACES=1 OCLGRIND_LOG=$folder/log OCLGRIND_BUILD_OPTIONS=-cl-opt-disable VOLLEY_REQUIRE=opencl VOLLEY_CACHE=off "$@" || status=$?
	if [ -s "$folder/log" ]; then
		echo "Oclgrind found:" >&2
		cat "$folder/log" >&2
		status=1
	elif [ ! -e "$folder/log" ]; then
		echo "Oclgrind has not run" >&2
		status=1
	fi
	rm -r "$folder"
	return $status
}
