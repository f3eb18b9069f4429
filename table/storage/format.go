package storage

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// Format names a format of files.
type Format string

// The formats, by the names that the command line uses.
const (
	FormatParquet   Format = "parquet"
	FormatCSV       Format = "csv"
	FormatIPC       Format = "arrow"  // Arrow IPC file
	FormatIPCStream Format = "arrows" // Arrow IPC stream
)

// FormatOf is the format that a path's extension stands for: .parquet or .pq;
// .csv, .tsv or .txt; .arrow, .feather or .ipc; .arrows. Another extension is
// an ErrUnsupported.
func FormatOf(path string) (Format, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".parquet", ".pq":
		return FormatParquet, nil
	case ".csv", ".tsv", ".txt":
		return FormatCSV, nil
	case ".arrow", ".feather", ".ipc":
		return FormatIPC, nil
	case ".arrows":
		return FormatIPCStream, nil
	default:
		return "", &Error{Path: path, Kind: device.ErrUnsupported,
			Text: fmt.Sprintf("no format is known by the extension %q; known are .parquet, .pq, .csv, .tsv, .txt, .arrow, .feather, .ipc and .arrows", ext)}
	}
}

// Open is the source of a file or glob by its extension, as FormatOf has it; a
// CSV file's types are guessed from its first rows.
func Open(path string) (table.Source, error) {
	f, err := FormatOf(path)
	if err != nil {
		return nil, err
	}
	return OpenAs(path, f, csvByExtension(path))
}

// OpenAs is the source of a file or glob of a format, whatever its extension.
// The options are read for CSV only.
func OpenAs(path string, f Format, csv CSVOptions) (table.Source, error) {
	switch f {
	case FormatParquet:
		return Parquet(path), nil
	case FormatCSV:
		return CSV(csv, path), nil
	case FormatIPC, FormatIPCStream:
		return IPC(path), nil
	default:
		return nil, unsupported(path, "", "the format %q", string(f))
	}
}

// csvByExtension has the tab as delimiter for .tsv.
func csvByExtension(path string) CSVOptions {
	if strings.EqualFold(filepath.Ext(path), ".tsv") {
		return CSVOptions{Delimiter: '\t'}
	}
	return CSVOptions{}
}

// ScanParquet begins a query over Parquet files or globs; give it a backend
// with On.
func ScanParquet(paths ...string) *table.Query { return table.Scan(Parquet(paths...)) }

// ScanCSV begins a query over CSV files or globs.
func ScanCSV(o CSVOptions, paths ...string) *table.Query { return table.Scan(CSV(o, paths...)) }

// ScanIPC begins a query over Arrow IPC files or streams, or globs of them.
func ScanIPC(paths ...string) *table.Query { return table.Scan(IPC(paths...)) }
