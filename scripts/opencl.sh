# Sourced after lib.sh and packages.sh. OpenCL without a GPU: three drivers that run on the processor.
oclgrind_driver=/usr/lib/oclgrind/liboclgrind-rt-icd.so

# opencl succeeds when there is an OpenCL loader with PoCL. Where there is none it installs pocl-opencl-icd with apt-get.
opencl() { packages /etc/OpenCL/vendors/pocl.icd pocl-opencl-icd ocl-icd-libopencl1; }

# opencl_headers are for programs that are linked with OpenCL: see gogl.sh.
opencl_headers() { packages /usr/include/CL/opencl.h ocl-icd-opencl-dev; }

# oclgrind succeeds when there is Oclgrind, a simulator that finds races and bad accesses.
oclgrind() { packages "$oclgrind_driver" oclgrind; }

intel_version=2026.2.0
intel_folder=$cache/intel-opencl-$intel_version

# intel_opencl succeeds when Intel's OpenCL runtime for processors is in the user's cache, where other clones find it too; it runs on AMD's as well.
# Where it is not, it FETCHES the wheels of intel-opencl-rt, intel-cmplr-lib-rt and tbb from PyPI (270 MB, 410 MB unpacked). Nothing of the system is changed: under_intel names the driver to the loader.
intel_opencl() {
	local wheels
	[ -e "$intel_folder/libintelocl.so" ] && return 0
	python_venv pip || return 1
	wheels=(intel-opencl-rt==$intel_version intel-cmplr-lib-rt==$intel_version tbb==2023.2.0)
	echo "fetching ${wheels[*]} from PyPI into $intel_folder (270 MB, 410 MB unpacked)"
	mkdir -p "${intel_folder%/*}"
	local folder
	folder=$(mktemp -d "$intel_folder.XXXXXX")
	if ! "$venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d "$folder" "${wheels[@]}"; then
		rm -r "$folder"
		why="pip could not download ${wheels[*]}"
		return 1
	fi
	if ! unpack_intel "$folder"; then
		rm -r "$folder"
		why="the wheels of Intel's runtime could not be unpacked"
		return 1
	fi
	# Complete or not there at all, also where another clone does the same.
	mv -T "$folder" "$intel_folder" 2>/dev/null || rm -r "$folder"
	[ -e "$intel_folder/libintelocl.so" ] || { why="the wheel of intel-opencl-rt has no libintelocl.so"; return 1; }
	du -sh "$intel_folder"
}

# unpack_intel FOLDER: the libraries of the wheels there, each once: a wheel has no links, and a copy for each name. The linker's plug-in is for compilers.
unpack_intel() {
	"$python" - "$1" <<-'END'
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
	local folder
	folder=$(mktemp -d "$scratch/XXXXXX")
	echo "$intel_folder/libintelocl.so" >"$folder/intel.icd"
	OCL_ICD_VENDORS=$folder "$@"
}

# under_oclgrind COMMAND…: runs it with Oclgrind as the only driver. The simulator ends well whatever it finds; its log must be empty.
# Kernels are built as they are written: optimised, they use intrinsics of LLVM that Oclgrind 21.10 has not got (rotations, abs, overflows).
# It notes 64 bytes for each byte of a group's local memory, anew for every group: without malloc's settings the kernel gives and takes these pages.
under_oclgrind() {
	local folder status=0
	folder=$(mktemp -d "$scratch/XXXXXX")
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
	return $status
}
