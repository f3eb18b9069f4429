// Package dl loads shared libraries at run time and calls their functions
// without cgo, so that one binary uses a driver where there is one and says
// what it tried where there is none.
//
// With the build tag cpuonly, and on systems that it does not know, Open finds
// nothing and says why: a program that is built so links no C library.
package dl
