# Sourced after lib.sh and packages.sh. One libvolley.so for the C interface, the Python package and the engines: the wheel's, which Zig's compiler links
# with the C library of 2018. The first job of a round that wants it builds it; without a round (VOLLEY_ROUND, see jobs.sh) each call does.

# one_library sets VOLLEY_LIBRARY, and VOLLEY_WHEEL_TAG to the platform that it runs on. Where VOLLEY_LIBRARY is set already nothing is done.
one_library() {
	[ -z "${VOLLEY_LIBRARY:-}" ] || return 0
	c_compiler || return 1
	bash scripts/python.sh environment || { why="python.sh could not install what builds it"; return 1; }
	section "libvolley.so"
	mkdir -p out/capi
	(
		one_at_a_time
		[ -z "${VOLLEY_ROUND:-}" ] || [ "$(cat out/capi/round 2>/dev/null)" != "$VOLLEY_ROUND" ] || exit 0
		rm -f out/capi/round out/capi/libvolley.so.1
		out/python/venv/bin/python python/_build/backend.py "$PWD/out/capi" >out/capi/tag && echo "${VOLLEY_ROUND:-}" >out/capi/round
	) 9>out/capi/lock || { why="it could not be built"; return 1; }
	VOLLEY_WHEEL_TAG=$(cat out/capi/tag)
	export VOLLEY_WHEEL_TAG VOLLEY_LIBRARY=$PWD/out/capi/libvolley.so.1
	section_end
}
