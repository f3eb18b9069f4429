#!/usr/bin/env bash
# What `volley bench collective --peers` races against: Open MPI (Debian's openmpi-bin and libopenmpi-dev, with gcc), Gloo as PyTorch has it
# (Debian's python3-torch, for the processor; 1.5 GB with what it needs) and MPICH (from PyPI, 13 MB, into the user's cache folder; out/venv/mpich links
# to it). INSTALLS with apt-get what is missing, if the user is root. A library that cannot be had is named, with the reason; the exit status is 1 then.
# The first argument may name some of them only: openmpi,mpich,gloo. Done once a user; a second call looks and ends.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh

names=${1:-openmpi,mpich,gloo} missing=()

for name in ${names//,/ }; do
	case $name in
	openmpi)
		# openmpi-bin alone has mpicc, but not the header mpi.h.
		{ packages '/usr/lib/*/openmpi/include/mpi.h' openmpi-bin libopenmpi-dev gcc libc6-dev && packages mpirun.openmpi openmpi-bin; } || missing+=("openmpi: $why") ;;
	gloo)
		packages python:torch python3-torch || missing+=("gloo: $why") ;;
	mpich)
		python_venv mpich mpich==5.0.2 || missing+=("mpich: $why") ;;
	*)
		echo "collective_peers.sh: unknown library $name: openmpi, mpich and gloo are known" >&2
		exit 2 ;;
	esac
done
[ ${#missing[@]} = 0 ] && exit 0
printf 'left out: %s\n' "${missing[@]}" >&2
exit 1
