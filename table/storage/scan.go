package storage

import "github.com/volley-go/volley/table"

// ScanParquet is a query of all rows of files and globs of Parquet; On says on
// which backend it runs. Columns and predicates of what follows are pushed into
// the reader.
func ScanParquet(paths ...string) *table.Query { return table.Scan(Parquet(paths...)) }

// ScanIPC is a query of all rows of files and globs of Arrow IPC, file or
// stream.
func ScanIPC(paths ...string) *table.Query { return table.Scan(IPC(paths...)) }

// ScanCSV is a query of all rows of files and globs of CSV.
func ScanCSV(o CSVOptions, paths ...string) *table.Query { return table.Scan(CSV(o, paths...)) }
