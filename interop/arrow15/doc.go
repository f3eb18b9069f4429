// Package arrow15 takes arrays, records, schemas and types of
// github.com/apache/arrow/go/v15, the last but a few of the module path that
// Arrow's Go library had inside of the apache/arrow repository, to arrow-go
// v18, on which volley is built, and back.
//
// Nothing is copied: both libraries describe the same buffers of the same
// format, and only the descriptions are made anew. The result holds references
// to the buffers of what it was made of and gives each back once, with its own
// last Release; the caller keeps and releases its reference to the source as
// before. Bytes are shared, so neither side may change them while the other
// holds them.
//
// Types that are taken: null, bool, integers, floating point numbers, decimals,
// dates, times, timestamps, durations, intervals, strings and bytes (fixed,
// normal and large), lists (fixed, normal and large), maps, structs and
// dictionaries, nested in any way, with the metadata of their fields. Others
// (unions, run-end encoded, views, extension types) are a
// memory.ErrUnsupported that names the type and the field.
//
// From... goes from v15 to v18, To... from v18 to v15.
package arrow15
