# Sourced after lib.sh. What reads and compiles the code without running it, for this system and for others.
house_rules() {
	section "house rules (internal/lint)"
	CGO_ENABLED=0 go test -count=1 -run '^TestHouse$' -v ./internal/lint
}

vet() {
	section "go vet"
	CGO_ENABLED=0 go vet ./...
}

# Builds the staticcheck that internal/tools/go.mod names, from the module cache, downloading it the first time.
staticcheck() {
	section "staticcheck"
	CGO_ENABLED=0 go tool -modfile=internal/tools/go.mod staticcheck ./...
}

build() {
	section "build without cgo"
	CGO_ENABLED=0 go build ./...
}

# The assembly is what its generator writes, no file less, and two more that are written by hand.
assembly() {
	section "assembly: made again, byte for byte"
	CGO_ENABLED=0 go vet -C internal/asmgen .
	local made
	made=$(mktemp -d "$scratch/XXXXXX")
	CGO_ENABLED=0 go run -C internal/asmgen . -out "$made"
	local f
	for f in $(git ls-files '*.s' '*_avx2_amd64.*' '*_avx512_amd64.*'); do
		case $f in
		collective/ticks_amd64.s | internal/release/release_amd64.s) ;; # by hand: see docs/decisions.md
		*) [ -e "$made/$f" ] || { echo "$f is written by no stem of internal/asmgen" >&2; return 1; } ;;
		esac
	done
	for f in "$made"/*/*/*; do
		diff -u "${f#"$made"/}" "$f" || { echo "run scripts/asm.sh generate and commit what it makes" >&2; return 1; }
	done
}

# The compiler checks our packages for another processor; it only exports the names of others' packages, without optimising them. Reading the files
# of other systems tells as much as compiling them and all that they import, in a tenth of the time.
other_systems() {
	section "build for linux/arm64"
	local plain='-N -l -dwarf=false'
	GOGC=off GOMEMLIMIT=1GiB GOOS=linux GOARCH=arm64 CGO_ENABLED=0 \
		go build -ldflags='-s -w' -gcflags="all=$plain" -gcflags="$(go list -m)/...=" ./...

	section "types for other systems"
	CGO_ENABLED=0 go run ./internal/typecheck darwin/arm64 windows/amd64
}

build_tags() {
	section "build with the tag purego: no assembly"
	CGO_ENABLED=0 go vet -tags purego ./kernels/cpu ./internal/release
	CGO_ENABLED=0 go test -vet=off -tags purego -run '^(TestTiers|TestTierByName)' ./kernels/cpu

	section "build with the tag cpuonly: a program that needs no library"
	local program=$scratch/cpuonly
	CGO_ENABLED=0 GOOS=linux go build -tags cpuonly -o "$program" ./cmd/volley
	if grep -q -a -F ld-linux "$program"; then
		echo "volley built with the tag cpuonly is linked with the C library" >&2
		exit 1
	fi
	CGO_ENABLED=0 go test -vet=off -tags cpuonly ./internal/dl ./device/...
}

checks() {
	seldom_collect
	house_rules
	vet
	staticcheck
	build
	assembly
	other_systems
	build_tags
}
