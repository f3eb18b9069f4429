// Package delimit finds where the fields of delimited text end (RFC 4180): at
// delimiters and ends of lines that do not stand in quotes.
//
// It takes 64 bytes at a time, as words of bits that say where quotes, delimiters and ends
// of lines are: a loop in Go that says what it does, and for AVX2 and AVX-512, made by
// internal/asmgen; all give the same. What stands in quotes comes of the parity of the
// quotes before each byte, as in G. Langdale and D. Lemire, Parsing Gigabytes of JSON per
// Second, VLDB Journal 28, 2019.
//
// Parity is right only in text whose quotes are where RFC 4180 has them. What is not
// so is told, and has to be read by looking at one byte after the other.
package delimit
