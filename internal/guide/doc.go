// Command guide makes Go tests of the samples in README.md and docs/guide, so that every sample runs, and the guide's pictures:
//
//	go run ./internal/guide
//
// A page is a program. Its blocks of ```go are run one after another in the repository's root, and a block of ``` right after a line
// "It prints:" is what the block before it prints; one for two languages follows both. A block that begins with "package main" is a program of
// its own. What a page's blocks need to be imported is found by the names of packages in them.
//
// The test of this package fails where a page and its committed test differ; python/tests/test_guide.py runs the samples in Python.
package main
