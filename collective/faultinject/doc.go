// Package faultinject makes endpoints fail on purpose, for tests of programs that
// must live with it: a rank is killed or frozen at its n-th message, messages are
// dropped, delayed, doubled or corrupted, ranks are parted from each other.
package faultinject
