package main

// #include "base.h"
import "C"

import (
	"context"
	"os"
	"unsafe"

	"github.com/volley-go/volley/distributed"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

//export go_volley_distributed_group_by
func go_volley_distributed_group_by(h C.uintptr_t, keys *C.uintptr_t, nKeys C.int64_t, p *C.volley_aggregate, n C.int64_t, o *C.volley_group_options, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_group_by", "GroupBy", h, t, out, func(*keeper) (onRanks, error) {
		by, err := expressions("keys", keys, nKeys)
		if err != nil {
			return nil, err
		}
		all, err := aggregatesOf(p, n)
		if err != nil {
			return nil, err
		}
		given, err := options("options", o)
		if err != nil {
			return nil, err
		}
		noNulls, anyOrder := given.drop_null_keys != 0, given.any_order != 0
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			g := d.GroupBy(anys(by)...)
			if noNulls {
				g = g.DropNullKeys()
			}
			if anyOrder {
				g = g.AnyOrder()
			}
			return g.Agg(ctx, all...)
		}, nil
	})
}

//export go_volley_distributed_describe
func go_volley_distributed_describe(h, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_describe", "GroupBy", h, t, out, func(*keeper) (onRanks, error) {
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) { return d.Describe(ctx) }, nil
	})
}

//export go_volley_distributed_sort
func go_volley_distributed_sort(h C.uintptr_t, keys *C.volley_order, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_sort", "Sort", h, t, out, func(*keeper) (onRanks, error) {
		orders, err := ordersOf(keys, n)
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			return d.Sort(ctx, orders...)
		}, err
	})
}

//export go_volley_distributed_top_k
func go_volley_distributed_top_k(h C.uintptr_t, k C.int64_t, keys *C.volley_order, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_top_k", "TopK", h, t, out, func(*keeper) (onRanks, error) {
		orders, err := ordersOf(keys, n)
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			return d.TopK(ctx, int64(k), orders...)
		}, err
	})
}

//export go_volley_distributed_distinct
func go_volley_distributed_distinct(h C.uintptr_t, columns **C.char, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_distinct", "Distinct", h, t, out, func(*keeper) (onRanks, error) {
		names, err := texts("columns", columns, n)
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			return d.Distinct(ctx, names...)
		}, err
	})
}

//export go_volley_distributed_union
func go_volley_distributed_union(h C.uintptr_t, others *C.uintptr_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_union", "Union", h, t, out, func(k *keeper) (onRanks, error) {
		all, err := keptAll[*distributedObject](k, "others", others, n)
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			var more []*distributed.Table
			for _, o := range all {
				more = append(more, o.d)
			}
			return d.Union(ctx, more...)
		}, err
	})
}

//export go_volley_distributed_intersect
func go_volley_distributed_intersect(left, right, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return ofTwo("volley_distributed_intersect", "Intersect", left, right, t, out, func() (func(ctx context.Context, d, o *distributed.Table) (*distributed.Table, error), error) {
		return func(ctx context.Context, d, o *distributed.Table) (*distributed.Table, error) {
			return d.Intersect(ctx, o)
		}, nil
	})
}

//export go_volley_distributed_except
func go_volley_distributed_except(left, right, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return ofTwo("volley_distributed_except", "Except", left, right, t, out, func() (func(ctx context.Context, d, o *distributed.Table) (*distributed.Table, error), error) {
		return func(ctx context.Context, d, o *distributed.Table) (*distributed.Table, error) {
			return d.Except(ctx, o)
		}, nil
	})
}

//export go_volley_distributed_slice
func go_volley_distributed_slice(h C.uintptr_t, offset, length C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_slice", "Slice", h, t, out, func(*keeper) (onRanks, error) {
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			return d.Slice(ctx, int64(offset), int64(length))
		}, nil
	})
}

//export go_volley_distributed_even
func go_volley_distributed_even(h, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_even", "Even", h, t, out, func(*keeper) (onRanks, error) {
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) { return d.Even(ctx) }, nil
	})
}

//export go_volley_distributed_row_number
func go_volley_distributed_row_number(h C.uintptr_t, name *C.char, first C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_row_number", "WithRowNumber", h, t, out, func(*keeper) (onRanks, error) {
		called, err := text("name", name)
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			return d.WithRowNumber(ctx, called, int64(first))
		}, err
	})
}

//export go_volley_distributed_filter
func go_volley_distributed_filter(h, condition, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_filter", "Filter", h, t, out, func(*keeper) (onRanks, error) {
		o, err := find[*exprObject]("condition", condition)
		if err != nil {
			return nil, err
		}
		e := o.e
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) { return d.Filter(ctx, e) }, nil
	})
}

//export go_volley_distributed_select
func go_volley_distributed_select(h C.uintptr_t, items *C.uintptr_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_select", "Select", h, t, out, func(*keeper) (onRanks, error) {
		all, err := expressions("items", items, n)
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			return d.Select(ctx, anys(all)...)
		}, err
	})
}

//export go_volley_distributed_with_columns
func go_volley_distributed_with_columns(h C.uintptr_t, names **C.char, values *C.uintptr_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_with_columns", "WithColumns", h, t, out, func(*keeper) (onRanks, error) {
		all, err := namedExpressions(names, values, n)
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			return d.WithColumns(ctx, anys(all)...)
		}, err
	})
}

// namedExpressions are expressions with names where these are given.
func namedExpressions(names **C.char, values *C.uintptr_t, n C.int64_t) ([]*expr.Expr, error) {
	all, err := expressions("values", values, n)
	if err != nil || names == nil {
		return all, err
	}
	for i, c := range unsafe.Slice(names, len(all)) {
		if c == nil {
			continue
		}
		name, err := text("names", c)
		if err != nil {
			return nil, err
		}
		all[i] = all[i].As(name)
	}
	return all, nil
}

//export go_volley_distributed_rename
func go_volley_distributed_rename(h C.uintptr_t, from, to **C.char, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_rename", "Rename", h, t, out, func(*keeper) (onRanks, error) {
		names, err := renames(from, to, n)
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			return d.RenameColumns(ctx, names)
		}, err
	})
}

// renames are new names of columns by the ones that they have.
func renames(from, to **C.char, n C.int64_t) (map[string]string, error) {
	before, err := texts("from", from, n)
	if err != nil {
		return nil, err
	}
	after, err := texts("to", to, n)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for i, name := range before {
		if _, twice := names[name]; twice {
			return nil, mismatch("column %q is renamed twice", name)
		}
		names[name] = after[i]
	}
	return names, nil
}

//export go_volley_distributed_drop
func go_volley_distributed_drop(h C.uintptr_t, names **C.char, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_drop", "Drop", h, t, out, func(*keeper) (onRanks, error) {
		all, err := texts("names", names, n)
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			return d.Drop(ctx, all...)
		}, err
	})
}

//export go_volley_distributed_equal
func go_volley_distributed_equal(h, other C.uintptr_t, anyOrder C.int64_t, t C.uintptr_t, out *C.int64_t) C.int32_t {
	operation := "Equal"
	if anyOrder != 0 {
		operation = "EqualRows"
	}
	return tableTogether("volley_distributed_equal", operation, "table", h, other, t, out != nil, func(k *keeper, o *distributedObject) (work, error) {
		p, err := kept[*distributedObject](k, "other", other)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			compare := o.d.Equal
			if anyOrder != 0 {
				compare = o.d.EqualRows
			}
			same, err := compare(ctx, p.d)
			if err != nil {
				return outcome{}, own(ctx, o.comm.named(err))
			}
			return outcome{commit: func() {
				if same {
					*out = 1
				}
			}, discard: func() {}}, nil
		}, nil
	})
}

//export go_volley_distributed_scan
func go_volley_distributed_scan(h C.uintptr_t, format *C.char, paths **C.char, n C.int64_t, columns **C.char, nColumns C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return scanTogether("volley_distributed_scan", h, paths, n, columns, nColumns, t, out, func(files []string) (table.Source, error) { return filesOf(format, files) })
}

//export go_volley_distributed_scan_csv
func go_volley_distributed_scan_csv(h C.uintptr_t, paths **C.char, n C.int64_t, options *C.volley_csv_options, columns **C.char, nColumns C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return scanTogether("volley_distributed_scan_csv", h, paths, n, columns, nColumns, t, out, func(files []string) (table.Source, error) {
		o, err := csvOptions(options)
		if err == nil && len(files) == 0 {
			err = mismatch("no paths")
		}
		return storage.CSV(o, files...), err
	})
}

// scanTogether scans the source that of makes of the paths of files.
func scanTogether(name string, h C.uintptr_t, paths **C.char, n C.int64_t, columns **C.char, nColumns C.int64_t, t C.uintptr_t, out *C.uintptr_t,
	of func(files []string) (table.Source, error),
) C.int32_t {
	return commTogether(name, "Scan", h, t, out != nil, func(_ *keeper, o *commObject) (work, error) {
		files, err := texts("paths", paths, n)
		if err != nil {
			return nil, err
		}
		names, err := texts("columns", columns, nColumns)
		if err != nil {
			return nil, err
		}
		source, err := of(files)
		if err != nil {
			return nil, err
		}
		b, err := host()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			d, err := distributed.Scan(ctx, o.c, b, source, names...)
			return giveDistributed(ctx, out, o, d, err)
		}, nil
	})
}

//export go_volley_distributed_write
func go_volley_distributed_write(h C.uintptr_t, folder *C.char, o *C.volley_write_options, t C.uintptr_t) C.int32_t {
	return tableTogether("volley_distributed_write", "Write", "table", h, 0, t, true, func(_ *keeper, from *distributedObject) (work, error) {
		to, err := text("folder", folder)
		if err != nil {
			return nil, err
		}
		w, err := writeOptions(to+".parquet", o)
		if err != nil {
			return nil, err
		}
		write := func(ctx context.Context) error { return from.d.WriteParquet(ctx, to, w.parquet) }
		switch w.format {
		case storage.FormatParquet:
		case storage.FormatCSV:
			write = func(ctx context.Context) error { return from.d.WriteCSV(ctx, to, w.csv) }
		case storage.FormatIPC:
			write = func(ctx context.Context) error { return from.d.WriteIPC(ctx, to, w.ipc) }
		default:
			return nil, mismatch("a folder of %q: tables on ranks are written as parquet, csv or arrow", string(w.format))
		}
		return func(ctx context.Context) (outcome, error) {
			return outcome{}, own(ctx, from.comm.named(write(ctx)))
		}, nil
	})
}

// filesOf is the source of files of a format, or of that of the first one's extension; one folder is its
// files.
func filesOf(format *C.char, files []string) (table.Source, error) {
	name, err := optional("format", format)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, mismatch("no paths")
	}
	if info, err := os.Stat(files[0]); err == nil && info.IsDir() && len(files) == 1 {
		return storage.Folder(files[0])
	}
	f := storage.Format(name)
	if name == "" {
		if f, err = storage.FormatOf(files[0]); err != nil {
			return nil, err
		}
	}
	switch f {
	case storage.FormatParquet:
		return storage.Parquet(files...), nil
	case storage.FormatIPC:
		return storage.IPC(files...), nil
	case storage.FormatCSV:
		return storage.CSV(storage.CSVOptions{}, files...), nil
	}
	return nil, mismatch("there is no format %q of pieces; there are parquet, arrow, csv", string(f))
}
