# Sourced after lib.sh. opencl succeeds when there is an OpenCL loader with a driver that runs on this machine's processor, and Oclgrind, a
# simulator that finds races and bad accesses. Where there is none it INSTALLS pocl-opencl-icd, oclgrind and, for scripts/gogl.sh, the
# headers (ocl-icd-opencl-dev) with apt-get, if this is Debian or alike and the user is root; otherwise it sets why_no_opencl and fails.
# intel_opencl is another one, from PyPI.
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
	if ! apt_install pocl-opencl-icd oclgrind ocl-icd-opencl-dev; then
		why_no_opencl="apt-get could not install pocl-opencl-icd, oclgrind and ocl-icd-opencl-dev"
		return 1
	fi
	opencl_found || { why_no_opencl="pocl-opencl-icd, oclgrind and ocl-icd-opencl-dev are installed, but not where they are looked for"; return 1; }
}

opencl_found() {
	[ -f /etc/OpenCL/vendors/pocl.icd ] && [ -f "$oclgrind_driver" ] && [ -f /usr/include/CL/opencl.h ]
}

why_no_intel=
intel_version=2026.2.0
intel_folder=${XDG_CACHE_HOME:-$HOME/.cache}/volley/intel-opencl-$intel_version

# intel_opencl succeeds when Intel's OpenCL runtime for processors is in the user's cache, where other clones find it too; it runs on AMD's as well.
# Where it is not, it FETCHES the wheels of intel-opencl-rt, intel-cmplr-lib-rt and tbb from PyPI (270 MB, 410 MB unpacked), installing python3-pip
# with apt-get where there is none. Nothing of the system is changed: under_intel names the driver to the loader.
intel_opencl() {
	local wheels
	[ -e "$intel_folder/libintelocl.so" ] && return 0
	if ! python3 -m pip --version >/dev/null 2>&1; then
		packages /usr/lib/python3/dist-packages/pip python3 python3-pip || { why_no_intel=$why; return 1; }
	fi
	wheels=(intel-opencl-rt==$intel_version intel-cmplr-lib-rt==$intel_version tbb==2023.2.0)
	echo "fetching ${wheels[*]} from PyPI into $intel_folder (270 MB, 410 MB unpacked)"
	mkdir -p "${intel_folder%/*}"
	local folder
	folder=$(mktemp -d "$intel_folder.XXXXXX")
	if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d "$folder" "${wheels[@]}"; then
		rm -r "$folder"
		why_no_intel="pip could not download ${wheels[*]}"
		return 1
	fi
	unpack_intel "$folder"
	# Complete or not there at all, also where another clone does the same.
	mv -T "$folder" "$intel_folder" 2>/dev/null || rm -r "$folder"
	[ -e "$intel_folder/libintelocl.so" ] || { why_no_intel="the wheel of intel-opencl-rt has no libintelocl.so"; return 1; }
	du -sh "$intel_folder"
}

# unpack_intel FOLDER: the libraries of the wheels there, each once: a wheel has no links, and a copy for each name. The linker's plug-in is for compilers.
unpack_intel() {
	python3 - "$1" <<-'END'
		import os, sys, zipfile
		folder, have = sys.argv[1], {}
		for wheel in [n for n in os.listdir(folder) if n.endswith(".whl")]:
		    path = os.path.join(folder, wheel)
		    with zipfile.ZipFile(path) as z:
		        for f in z.infolist():
		            name = os.path.basename(f.filename)
		            if ".data/data/lib/" not in f.filename or not name or name == "icx-lto.so":
		                continue
		            to = os.path.join(folder, name)
		            first = have.setdefault((f.CRC, f.file_size), to)
		            if first != to:
		                os.link(first, to)
		                continue
		            with open(to, "wb") as out:
		                out.write(z.read(f))
		    os.remove(path)
	END
}

# under_intel COMMAND…: runs it with Intel's runtime as the only driver.
under_intel() {
	local folder status=0
	folder=$(mktemp -d)
	echo "$intel_folder/libintelocl.so" >"$folder/intel.icd"
	OCL_ICD_VENDORS=$folder "$@" || status=$?
	rm -r "$folder"
	return $status
}

# under_oclgrind COMMAND…: runs it with Oclgrind as the only driver. The simulator ends well whatever it finds; its log must be empty.
# Kernels are built as they are written: optimised, they use intrinsics of LLVM that Oclgrind 21.10 has not got (rotations, abs, overflows).
# It notes 64 bytes for each byte of a group's local memory, anew for every group: without malloc's settings the kernel gives and takes these pages.
under_oclgrind() {
	local folder status=0
	folder=$(mktemp -d)
	echo "$oclgrind_driver" >"$folder/oclgrind.icd"
	OCL_ICD_VENDORS=$folder OCLGRIND_DATA_RACES=1 OCLGRIND_LOG=$folder/log OCLGRIND_BUILD_OPTIONS=-cl-opt-disable \
		MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=2000000000 MALLOC_TOP_PAD_=67108864 VOLLEY_REQUIRE=opencl VOLLEY_CACHE=off "$@" || status=$?
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
