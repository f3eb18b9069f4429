# Sourced after lib.sh. What the GPU sections need from Debian and PyPI. Where something cannot be had, why says it.
why=

# packages COMMAND-OR-FILE PACKAGE...: succeeds when the command or file is there. Otherwise it INSTALLS the packages with apt-get, if this is
# Debian or alike and the user is root.
packages() {
	local thing=$1
	shift
	there "$thing" && return 0
	if ! command -v apt-get >/dev/null; then
		why="no $thing, and no apt-get to install $* with"
		return 1
	fi
	if [ "$(id -u)" != 0 ]; then
		why="no $thing, and only root may install it: sudo apt-get install $*"
		return 1
	fi
	echo "installing $* with apt-get"
	if ! apt_install "$@"; then
		why="apt-get could not install $*"
		return 1
	fi
	there "$thing" || { why="$* is installed, but there is still no $thing"; return 1; }
}

there() {
	case $1 in
	/*) compgen -G "$1" >/dev/null ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# wheel FILE NAME==VERSION: succeeds when FILE is in the ignored folder .cuda/ of the clone. Otherwise it fetches the wheel from PyPI with pip,
# installing python3-pip with apt-get where there is none, and unpacks it there.
wheel() {
	local file=.cuda/$1 name=$2 pattern
	[ -e "$file" ] && return 0
	if ! python3 -m pip --version >/dev/null 2>&1; then
		packages /usr/lib/python3/dist-packages/pip python3 python3-pip || return 1
	fi
	mkdir -p .cuda/wheels
	echo "fetching $name from PyPI into .cuda/"
	if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d .cuda/wheels "$name"; then
		why="pip could not download $name"
		return 1
	fi
	pattern=${name%%==*}
	python3 -m zipfile -e .cuda/wheels/"${pattern//-/_}"-"${name##*==}"-*.whl .cuda
	[ -e "$file" ] || { why="$name has no $1"; return 1; }
	# zipfile forgets which files are programs.
	case $1 in */bin/*) chmod +x "$file" ;; esac
}
