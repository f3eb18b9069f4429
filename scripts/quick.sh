#!/usr/bin/env bash
# The short round while working: vet, build, and the tests without their long cases. Installs nothing but Go modules.
. "$(dirname "$0")/lib.sh"

export GOGC=400 GOMEMLIMIT=3GiB # see test.sh
vet
build

# What takes seconds, and is left to test.sh: the host's kernels on many rows and threads, errors planted in each, tables on a pretended device and those of
# millions of rows, every fault of every collective, what other processes do. kernels/gpu is what kernels/opencl and kernels/cuda call.
long=(
	TestEvaluateOnThreads TestGroupShapes TestSortNullsApart TestJoinShapes TestSortColumns TestTallySieves TestTopKShapes TestSortByLines
	TestGEMMByTiersAndThreads TestTallyShapes TestScanThreads TestSortShapes TestTallyTexts TestTallyIndices TestJoinColumnsShapes TestGroupTexts
	TestJoinOneRegion TestFilterWhere TestTallyCaches TestTallyRounds TestMatch TestTallyTextNulls TestGenericPlanted TestPlantedOnRemoteDevice
	TestOnRemoteDevice TestPeakMemory TestJoinOfManyPairs TestJoinOfCloseKeys TestOperationsStopWithTheirContext TestMillion
	TestFaultMatrix TestMeasure TestOurs TestKilledProcesses TestObjects TestGEMM
)
section "short tests"
CGO_ENABLED=0 go test -short -vet=off -skip "^($(IFS='|' && echo "${long[*]}"))\$" $(CGO_ENABLED=0 go list ./... | grep -v '/kernels/gpu$')

finish
