// Package bitpack takes numbers apart that are packed into a few bits each, as
// Parquet packs indices of dictionaries: the first number's lowest bit is the lowest
// of the first byte (https://parquet.apache.org/docs/file-format/data-pages/encodings/#RLE).
// It looks them up in a table in the same loop, and lays columns of words by rows, or
// those of them that are marked.
//
// Each loop is there in Go, which says what it does, and for AVX2 and AVX-512, made
// by internal/asmgen; all give the same. [Best] are those of the tier that internal/tier
// chooses.
package bitpack
