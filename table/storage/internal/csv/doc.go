// Package csv turns the text of CSV files into columns, and rows into such text, as RFC 4180 has
// it. It knows no files, options or schemas: those are table/storage's.
//
// A Splitter cuts a text into blocks of whole records. A block whose records are regular becomes a
// Grid, of which a Builder makes columns many fields at a time; any other is cut into Records by
// Tokens, field by field, which says what is wrong with it and where. Both ways give the same
// columns. A Parser holds the values of a type, a Guess finds the type of values.
package csv
