#!/usr/bin/env bash
# The round while working, at most two minutes when little has changed: house rules, vet, build, and the short tests without those that take seconds
# each. test.sh runs those, and everything on devices. Installs nothing but Go modules.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
. scripts/checks.sh
. scripts/tests.sh

seldom_collect
house_rules
vet
build

# Millions of rows, each of many shapes on several threads; what other processes do; a pretended device.
seconds=(
	TestSortNullsApart TestGroupShapes TestJoinShapes TestSortColumns TestTallySieves TestTopKShapes TestSortByLines TestJoinOrderedLikeProbe TestSameGroups
	TestSameGroupsOfTexts TestGEMMByTiersAndThreads TestTallyShapes TestScanThreads TestSortShapes TestTallyTexts TestTallyIndices TestJoinColumnsShapes
	TestGroupTexts TestJoinOneRegion TestFilterWhere TestTallyCaches TestTallyRounds TestTalliesByLines TestSameSorts TestSameJoins TestMatch
	TestTallyTextNulls TestGenericPlanted TestOnRemoteDevice TestPeakMemory TestJoinOfManyPairs TestJoinOfCloseKeys TestOperationsStopWithTheirContext
	TestOurs TestKilledProcesses TestObjects TestGEMM TestGrowWithoutDeadline TestInitWithoutDeadline TestDefaultDeadline TestMeasure TestManyRanks TestSplitsOfManyRanks
	TestOperationsOverTransports TestLaunchMindsDescendants TestLaunchTables TestDeterministic TestResumedProcess TestNoMismatchPassesEverywhere TestStruckInShrink
	TestJoinIsTheLocalJoin TestOperatorsAsOnOneRank TestStruck TestSuiteOnRemoteDevice TestSuiteOnFewTypes TestSilentStrangers TestDistinctWays
	TestWorkersGiveTheSameBits TestWorkersGiveTheSameBitsOfManyRows TestOperationsWithinTooLittleMemory TestFlow TestFlowOfConstants TestFlowOfSpoiltTables
	TestKeysThatOthersDetermine TestRankIsStruck TestNCCLMoves TestJoinKeysInReaders TestFiltersInReaders TestFiltersOfSmallBatches TestIPCCut TestIPCFlips
	TestSplitsGiveTheSameBits TestDictionaryIndex TestWordsDamaged TestGroupTextKeys TestSpoiltTables TestTiers TestJoinRanks TestFilterFlags
	TestNoRowsMoveOnRanges TestNCCLOperators TestDecimalsAreTheSameBits TestGatherAndScatterInPlace TestExchangesAgainAndAgain TestDeterministicOnMachines
	TestTallyHot TestGroupOneText TestSmallMorsels TestIPCFlipsWithoutChecksums TestFrames
)
section "short tests"
packages=$(packages_but kernels/cuda kernels/opencl kernels/gpu device/cuda device/opencl internal/cuemu)
VOLLEY_KERNELTEST=tiny CGO_ENABLED=0 go test -short -vet=off -skip "$(either TestHouse "${long_tests[@]}" "${seconds[@]}")" $packages

finish
