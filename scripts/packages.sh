# Sourced after lib.sh. What the scripts need from Debian and PyPI. Where something cannot be had, why says it.
why=

# packages THING PACKAGE...: succeeds when THING is there: a command, a file (with a / in front), or a module of Debian's Python (python:NAME).
# Otherwise it INSTALLS the packages with apt-get, if this is Debian or alike and the user is root.
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
	if ! apt_install "$thing" "$@"; then
		why="apt-get could not install $*"
		return 1
	fi
	there "$thing" || { why="$* is installed, but there is still no $thing"; return 1; }
}

there() {
	case $1 in
	/*) compgen -G "$1" >/dev/null ;;
	python:*) /usr/bin/python3 -c "import ${1#python:}" 2>/dev/null ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# one_at_a_time waits for the lock of the file that is open as 9. macOS has no flock: there nobody waits.
one_at_a_time() { ! command -v flock >/dev/null || flock 9; }

# apt_install THING PACKAGE...: installs them with apt-get, one caller at a time; whoever waited looks again first.
apt_install() {
	local thing=$1
	shift
	(
		one_at_a_time
		! there "$thing" || exit 0
		echo "installing $* with apt-get" >&2
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"
	) 9>"${TMPDIR:-/tmp}/volley-apt-get" >/dev/null
}

# python3_with_venv sets python to an interpreter that can make virtual environments, with pip in them: Debian's, for which Debian's PyTorch is,
# else the one on PATH. Where there is none it installs python3 and python3-venv with apt-get.
python=
python3_with_venv() {
	local p
	[ -z "$python" ] || return 0
	packages python:ensurepip python3 python3-venv || true
	for p in /usr/bin/python3 "$(command -v python3 || true)"; do
		if [ -n "$p" ] && "$p" -c 'import ensurepip, venv' 2>/dev/null; then
			python=$p
			return 0
		fi
	done
	why="no python3 with the modules venv and ensurepip${why:+; $why}"
	return 1
}

# python_venv NAME REQUIREMENT...: makes a virtual environment with these packages from PyPI in the user's cache folder, by what is in it, and sets
# venv to its folder, which out/venv/NAME of this clone links to. It is complete or made anew. With venv_options=--system-site-packages it sees Debian's.
venv_options=
python_venv() {
	local name=$1 status=0
	shift
	python3_with_venv || return 1
	venv=$cache/venv/$name-$({ "$python" -VV && printf '%s\n' "$python" $venv_options "$@"; } | sha256sum | cut -c1-12)
	mkdir -p "$cache/venv" out/venv
	if ! venv_complete "$venv"; then
		(one_at_a_time && { venv_complete "$venv" || make_venv "$venv" "$@"; }) 9>"$venv.lock" || status=$?
		[ $status = 0 ] || { why="python3 -m venv or pip could not make $venv with $*"; return 1; }
	fi
	ln -sfn "$venv" "out/venv/$name"
}

venv_complete() { [ -e "$1/complete" ] && "$1/bin/python" -m pip --version >/dev/null 2>&1; }

make_venv() {
	local folder=$1
	shift
	rm -rf "$folder"
	echo "makes $folder${*:+ with $*}"
	"$python" -m venv $venv_options "$folder" || return
	[ $# = 0 ] || "$folder/bin/python" -m pip install -q --no-compile --disable-pip-version-check "$@" || return
	touch "$folder/complete"
}

# venv_over FOLDER FROM...: a virtual environment of this clone, for its own package, that sees those of the user's cache folder (virtual environments and
# wheels), the first of them first. With venv_options=--system-site-packages it sees Debian's too, last. One that was made over the same is kept: another
# job may be using it.
venv_over() {
	local folder=$1
	shift
	mkdir -p "${folder%/*}"
	(
		one_at_a_time
		over=$("$python" -VV && printf '%s\n' "$python" $venv_options "$@")
		[ "$(cat "$folder/over" 2>/dev/null)" != "$over" ] || exit 0
		rm -rf "$folder"
		"$python" -m venv --without-pip $venv_options "$folder" || exit
		for from in "$@"; do
			if [ -e "$from/pyvenv.cfg" ]; then echo "$from"/lib/python*/site-packages; else echo "$from"; fi
		done >"$(echo "$folder"/lib/python*/site-packages)/cache.pth"
		echo "$over" >"$folder/over"
	) 9>"$folder.lock" || { why="python3 -m venv could not make $folder"; return 1; }
}

# wheel FILE NAME==VERSION: fetches the wheel from PyPI and unpacks it in the user's cache folder, by its version; sets wheel_folder to where it lies.
# Succeeds when FILE is in it.
wheel() {
	local file=$1 name=$2 pattern=${2%%==*}
	wheel_folder=$cache/wheels/${name/==/-}
	[ -e "$wheel_folder/$file" ] && return 0
	python_venv pip || return 1
	mkdir -p "$cache/wheels"
	local made
	made=$(mktemp -d "$wheel_folder.XXXXXX")
	echo "fetching $name from PyPI into $wheel_folder"
	if ! "$venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d "$made" "$name"; then
		rm -r "$made"
		why="pip could not download $name"
		return 1
	fi
	if ! "$python" -m zipfile -e "$made"/"${pattern//-/_}"-"${name##*==}"-*.whl "$made"; then
		rm -r "$made"
		why="the wheel of $name could not be unpacked"
		return 1
	fi
	rm "$made"/*.whl
	# zipfile forgets which files are programs.
	case $file in */bin/*) chmod +x "$made/$file" ;; esac
	chmod 755 "$made"
	# Complete or not there at all, also where another clone does the same.
	mv -T "$made" "$wheel_folder" 2>/dev/null || rm -r "$made"
	[ -e "$wheel_folder/$file" ] || { why="$name has no $file"; return 1; }
}

# c_compiler succeeds when Go finds a C compiler, which the race detector and package cgo need. Where there is none it installs gcc and libc6-dev.
c_compiler() {
	local cc
	cc=$(CGO_ENABLED=1 go env CC)
	packages "${cc%% *}" gcc libc6-dev
}
