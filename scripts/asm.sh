#!/usr/bin/env bash
# The assembly of kernels/cpu and other packages, which internal/asmgen writes.
# asm.sh generate makes it again; asm.sh check fails where that would change anything. Installs nothing but Go modules.
. "$(dirname "$0")/lib.sh"
. scripts/checks.sh

case ${1:-check} in
check) assembly ;;
generate)
	section "assembly: made"
	CGO_ENABLED=0 go generate ./kernels/cpu
	;;
*)
	echo "usage: asm.sh [check|generate]" >&2
	exit 2
	;;
esac
finish
