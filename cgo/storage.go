package main

// #include "base.h"
import "C"

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// scan makes a query of files.
func scan(name string, paths **C.char, n C.int64_t, out *C.uintptr_t, body func(paths []string) (*table.Query, error)) C.int32_t {
	return call(name, func() error {
		all, err := texts("paths", paths, n)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return mismatch("no paths")
		}
		q, err := body(all)
		if err != nil {
			return err
		}
		return givePlan(out, q)
	})
}

//export go_volley_scan_parquet
func go_volley_scan_parquet(paths **C.char, n C.int64_t, out *C.uintptr_t) C.int32_t {
	return scan("volley_scan_parquet", paths, n, out, func(all []string) (*table.Query, error) { return storage.ScanParquet(all...), nil })
}

//export go_volley_scan_ipc
func go_volley_scan_ipc(paths **C.char, n C.int64_t, out *C.uintptr_t) C.int32_t {
	return scan("volley_scan_ipc", paths, n, out, func(all []string) (*table.Query, error) { return storage.ScanIPC(all...), nil })
}

//export go_volley_scan_csv
func go_volley_scan_csv(paths **C.char, n C.int64_t, o *C.volley_csv_options, out *C.uintptr_t) C.int32_t {
	return scan("volley_scan_csv", paths, n, out, func(all []string) (*table.Query, error) {
		given, err := csvOptions(o)
		return storage.ScanCSV(given, all...), err
	})
}

//export go_volley_scan_parquet_with
func go_volley_scan_parquet_with(paths **C.char, n C.int64_t, o *C.volley_scan_options, out *C.uintptr_t) C.int32_t {
	return scan("volley_scan_parquet_with", paths, n, out, func(all []string) (*table.Query, error) {
		parquet, _, err := scanOptions(o)
		return table.Scan(storage.Parquet(all...).With(parquet)), err
	})
}

//export go_volley_scan_ipc_with
func go_volley_scan_ipc_with(paths **C.char, n C.int64_t, o *C.volley_scan_options, out *C.uintptr_t) C.int32_t {
	return scan("volley_scan_ipc_with", paths, n, out, func(all []string) (*table.Query, error) {
		_, ipc, err := scanOptions(o)
		return table.Scan(storage.IPC(all...).With(ipc)), err
	})
}

// scanOptions are those of each format.
func scanOptions(o *C.volley_scan_options) (parquet storage.ParquetReadOptions, ipc storage.IPCReadOptions, err error) {
	c, err := options("options", o)
	if err != nil {
		return parquet, ipc, err
	}
	if parquet.Int96, err = optional("int96", c.int96); err != nil {
		return parquet, ipc, err
	}
	parquet.NoHive, ipc.NoHive, ipc.MaxUnpacked = c.no_hive != 0, c.no_hive != 0, int64(c.max_unpacked)
	return parquet, ipc, nil
}

func csvOptions(o *C.volley_csv_options) (given storage.CSVOptions, err error) {
	c, err := options("options", o)
	if err != nil {
		return given, err
	}
	given.NoHeader, given.SampleRows, given.Lenient, given.NoHive = c.no_header != 0, int(c.sample_rows), c.lenient != 0, c.no_hive != 0
	if given.Delimiter, err = delimiter(c.delimiter); err != nil {
		return given, err
	}
	if c.names_count != 0 {
		if given.Names, err = texts("names", c.names, c.names_count); err != nil {
			return given, err
		}
	}
	if c.nulls_count != 0 {
		if given.Nulls, err = texts("nulls", c.nulls, c.nulls_count); err != nil {
			return given, err
		}
	}
	names, err := texts("type_names", c.type_names, c.types_count)
	if err != nil {
		return given, err
	}
	types, err := texts("types", c.types, c.types_count)
	if err != nil {
		return given, err
	}
	for i, name := range names {
		t, err := typeNamed(types[i])
		if err != nil {
			return given, err
		}
		if given.Types == nil {
			given.Types = make(map[string]arrow.DataType)
		}
		given.Types[name] = t
	}
	return given, nil
}

// delimiter is one byte, 0 for NULL.
func delimiter(p *C.char) (byte, error) {
	s, err := optional("delimiter", p)
	if err != nil || p == nil {
		return 0, err
	}
	if len(s) != 1 {
		return 0, mismatch("the delimiter %q is not one byte", s)
	}
	return s[0], nil
}

// compressions by their names.
var compressions = map[string]storage.Compression{
	"": storage.CompressionDefault, "none": storage.CompressionNone, "uncompressed": storage.CompressionNone, "snappy": storage.CompressionSnappy,
	"zstd": storage.CompressionZstd, "lz4": storage.CompressionLZ4,
}

// writing is what volley_write_options ask for.
type writing struct {
	format  storage.Format
	csv     storage.CSVWriteOptions
	parquet storage.ParquetOptions
	ipc     storage.IPCOptions
}

func writeOptions(path string, o *C.volley_write_options) (w writing, err error) {
	c, err := options("options", o)
	if err != nil {
		return w, err
	}
	format, err := optional("format", c.format)
	if err != nil {
		return w, err
	}
	if w.format = storage.Format(format); format == "" {
		if w.format, err = storage.FormatOf(path); err != nil {
			return w, err
		}
	}
	named, err := optional("compression", c.compression)
	if err != nil {
		return w, err
	}
	compression, ok := compressions[named]
	if !ok {
		return w, mismatch("there is no compression %q; there are none, snappy, zstd, lz4", named)
	}
	if w.csv.Delimiter, err = delimiter(c.delimiter); err != nil {
		return w, err
	}
	if w.csv.Null, err = optional("null_text", c.null_text); err != nil {
		return w, err
	}
	w.csv.NoHeader = c.no_header != 0
	w.parquet = storage.ParquetOptions{Compression: compression, RowGroupRows: int64(c.row_group_rows)}
	w.ipc = storage.IPCOptions{Compression: compression, Stream: w.format == storage.FormatIPCStream}
	return w, nil
}

//export go_volley_table_write
func go_volley_table_write(h C.uintptr_t, path *C.char, o *C.volley_write_options, t C.uintptr_t) C.int32_t {
	return long("volley_table_write", t, func(k *keeper) (work, error) {
		from, err := kept[*tableObject](k, "table", h)
		if err != nil {
			return nil, err
		}
		to, err := text("path", path)
		if err != nil {
			return nil, err
		}
		w, err := writeOptions(to, o)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			switch w.format {
			case storage.FormatParquet:
				return outcome{}, storage.WriteParquet(ctx, from.t, to, w.parquet)
			case storage.FormatCSV:
				return outcome{}, storage.WriteCSV(ctx, from.t, to, w.csv)
			case storage.FormatIPC, storage.FormatIPCStream:
				return outcome{}, storage.WriteIPC(ctx, from.t, to, w.ipc)
			}
			return outcome{}, mismatch("there is no format %q; there are parquet, csv, arrow, arrows", string(w.format))
		}, nil
	})
}
