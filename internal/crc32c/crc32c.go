// Package crc32c is the CRC-32 with Castagnoli's polynomial, as hash/crc32 has it, at
// the speed of the second level cache where the processor multiplies polynomials by
// vectors. hash/crc32 takes 8 bytes at a time, for which a message that is written and
// read over sockets waits longer than for its copies.
package crc32c

import "hash/crc32"

var table = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the CRC-32C of p.
func Checksum(p []byte) uint32 { return Update(0, p) }

// Update is the CRC-32C of what sum is the CRC-32C of, with p behind it.
func Update(sum uint32, p []byte) uint32 {
	sum, p = ahead(sum, p)
	return crc32.Update(sum, table, p)
}
