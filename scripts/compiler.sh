# Sourced by test.sh after lib.sh. c_compiler succeeds when Go finds a C compiler, which only the race detector needs. Where there is none it
# INSTALLS gcc and libc6-dev with apt-get, if this is Debian or alike and the user is root; otherwise it sets why_no_compiler and fails.
why_no_compiler=

c_compiler() {
	local cc
	cc=$(CGO_ENABLED=1 go env CC)
	if command -v "${cc%% *}" >/dev/null; then
		return 0
	fi
	if ! command -v apt-get >/dev/null; then
		why_no_compiler="no C compiler ($cc), and no apt-get to install gcc with"
		return 1
	fi
	if [ "$(id -u)" != 0 ]; then
		why_no_compiler="no C compiler ($cc), and only root may install gcc: sudo apt-get install gcc libc6-dev"
		return 1
	fi
	echo "installing gcc and libc6-dev with apt-get: the race detector needs a C compiler"
	if ! apt_install gcc libc6-dev; then
		why_no_compiler="no C compiler ($cc), and apt-get could not install gcc"
		return 1
	fi
	command -v "${cc%% *}" >/dev/null || { why_no_compiler="gcc is installed, but Go is set to use $cc"; return 1; }
}
