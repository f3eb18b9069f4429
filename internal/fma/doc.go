// Package fma has the fused product and sum x*y + z, rounded once, of both
// float types: in Go what one instruction does in vector code, to the bit.
package fma
