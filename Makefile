# Bare `make` lists the targets. The work is done in scripts/; each script says what it installs.
.DEFAULT_GOAL := help
.PHONY: help run test exhaust gpu capi python install quick lint fuzz bench peers clean

help: ## List the targets
	@echo 'make TARGET, where TARGET is one of'
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## A query and a regression over a million flights on every device, checked and drawn, into out/flights (ARGS="--device cpu")
	@bash scripts/run.sh bench flights --out out/flights $(ARGS)

test: ## A test of every promise, 20 to 25 minutes: house rules, vet, types, tests, race detector, devices, C, Python, both MPIs, the main job
	@bash scripts/test.sh

exhaust: ## The long matrices, an hour or two: before a release, and before work on their parts is called done
	@bash scripts/exhaust.sh

gpu: ## The part of test that is about GPUs (PART=opencl, emulator, ptx, check, long, or generate to make the PTX)
	@bash scripts/gpu.sh $(PART)

capi: ## Build libvolley.so, the C interface, into out/capi and test it
	@bash scripts/capi.sh

python: ## Build the Python wheel into out/python and test it, alone and with NumPy, pyarrow, pandas, Polars, DuckDB
	@bash scripts/python.sh

install: ## Install libvolley.so, its headers, and what pkg-config and CMake look for, into PREFIX (/usr/local)
	@bash scripts/capi.sh install $(or $(PREFIX),/usr/local)

quick: ## The round while working, two minutes: house rules, vet, build, short tests
	@bash scripts/quick.sh

lint: ## House rules, vet and staticcheck
	@bash scripts/lint.sh

fuzz: ## Each fuzz target for FUZZTIME (10s); FUZZ=regexp chooses some
	@bash scripts/fuzz.sh

bench: ## Time and peak memory of the kernels and tables on columns made for it (ARGS="--rows 1e7 --ops filter_50,sort")
	@bash scripts/run.sh bench columnar $(ARGS)

peers: ## Race against DuckDB, Polars, pyarrow, DataFusion, pandas and NumPy, into out/peers (ARGS="--rows 1e6 --ops sort")
	@bash scripts/peers.sh
	@bash scripts/run.sh bench columnar --peers --out out/peers $(ARGS)

clean: ## Remove what the other targets write here: out/, bin/, coverage
	rm -rf out bin coverage coverage.out cover.out
