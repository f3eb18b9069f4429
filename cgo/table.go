package main

// #include "base.h"
import "C"

import (
	"context"
	"strings"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// placed is a table of host batches on a backend. It takes over the references to the batches.
func placed(ctx context.Context, b *kernels.Backend, schema *arrow.Schema, batches []*table.Batch) (*table.Table, error) {
	cpu, err := host()
	if err != nil {
		for _, c := range batches {
			c.Release()
		}
		return nil, err
	}
	t, err := table.NewTable(cpu, schema, batches)
	if err != nil || b == cpu {
		return t, err
	}
	defer t.Release()
	return t.To(ctx, b)
}

//export go_volley_table_new
func go_volley_table_new(d C.uintptr_t, names **C.char, columns *C.uintptr_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_table_new", t, func(k *keeper) (work, error) {
		called, err := texts("names", names, n)
		if err != nil {
			return nil, err
		}
		all, err := keptAll[*columnObject](k, "columns", columns, n)
		if err != nil {
			return nil, err
		}
		b, err := backend(d)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := tableOf(ctx, b, called, all)
			return giveFailable(out, &tableObject{made}, err)
		}, nil
	})
}

func tableOf(ctx context.Context, b *kernels.Backend, names []string, all []*columnObject) (*table.Table, error) {
	var fields []arrow.Field
	var columns []*memory.Column
	rows := int64(0)
	for i, o := range all {
		if rows = all[0].c.Len(); o.c.Len() != rows {
			return nil, mismatch("column %q has %d rows, column %q %d", names[i], o.c.Len(), names[0], rows)
		}
		fields = append(fields, arrow.Field{Name: names[i], Type: o.c.Type(), Nullable: true})
	}
	err := onStream(ctx, b, func(s device.Stream) error {
		for _, o := range all {
			c, err := moved(ctx, b, s, o)
			if err != nil {
				return err
			}
			columns = append(columns, c)
		}
		return nil
	})
	if err != nil {
		for _, c := range columns {
			c.Release()
		}
		return nil, err
	}
	schema := arrow.NewSchema(fields, nil)
	batch, err := table.NewBatch(schema, rows, columns)
	if err != nil {
		return nil, err
	}
	return table.NewTable(b, schema, []*table.Batch{batch})
}

// withTable runs a call on one table.
func withTable(name string, h C.uintptr_t, body func(t *table.Table) error) C.int32_t {
	return call(name, func() error {
		return with("table", h, func(o *tableObject) error { return body(o.t) })
	})
}

//export go_volley_table_export
func go_volley_table_export(h C.uintptr_t, out *C.struct_ArrowArrayStream) C.int32_t {
	return withTable("volley_table_export", h, func(t *table.Table) error {
		cpu, err := host()
		if err != nil {
			return err
		}
		own, err := t.To(context.Background(), cpu)
		if err != nil {
			return err
		}
		return publish(streamTable(own), out)
	})
}

//export go_volley_table_schema
func go_volley_table_schema(h C.uintptr_t, out *C.struct_ArrowSchema) C.int32_t {
	return withTable("volley_table_schema", h, func(t *table.Table) error {
		exportSchema(t.Schema(), out)
		return nil
	})
}

//export go_volley_table_rows
func go_volley_table_rows(h C.uintptr_t, out *C.int64_t) C.int32_t {
	return withTable("volley_table_rows", h, func(t *table.Table) error {
		*out = C.int64_t(t.NumRows())
		return nil
	})
}

//export go_volley_table_slice
func go_volley_table_slice(h C.uintptr_t, offset, length C.int64_t, out *C.uintptr_t) C.int32_t {
	return withTable("volley_table_slice", h, func(t *table.Table) error {
		part, err := t.Slice(int64(offset), int64(length))
		if err == nil {
			*out = register(&tableObject{part})
		}
		return err
	})
}

//export go_volley_table_concat
func go_volley_table_concat(tables *C.uintptr_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_table_concat", t, func(k *keeper) (work, error) {
		given, err := keptAll[*tableObject](k, "tables", tables, n)
		if err != nil {
			return nil, err
		}
		all := make([]*table.Table, len(given))
		for i, o := range given {
			all[i] = o.t
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := table.Concat(ctx, all...)
			return giveFailable(out, &tableObject{made}, err)
		}, nil
	})
}

//export go_volley_table_columns
func go_volley_table_columns(h C.uintptr_t, out *C.int64_t) C.int32_t {
	return withTable("volley_table_columns", h, func(t *table.Table) error {
		*out = C.int64_t(t.NumColumns())
		return nil
	})
}

// field is column i of a table.
func field(t *table.Table, i C.int64_t) (arrow.Field, error) {
	if i < 0 || int64(i) >= int64(t.NumColumns()) {
		return arrow.Field{}, mismatch("column %d of a table of %d", int64(i), t.NumColumns())
	}
	return t.Schema().Field(int(i)), nil
}

//export go_volley_table_name
func go_volley_table_name(h C.uintptr_t, i C.int64_t, out **C.char) C.int32_t {
	return withTable("volley_table_name", h, func(t *table.Table) error {
		f, err := field(t, i)
		if err != nil {
			return err
		}
		return giveText(out, f.Name)
	})
}

//export go_volley_table_type
func go_volley_table_type(h C.uintptr_t, i C.int64_t, out **C.char) C.int32_t {
	return withTable("volley_table_type", h, func(t *table.Table) error {
		f, err := field(t, i)
		if err != nil {
			return err
		}
		return giveText(out, nameOf(f.Type))
	})
}

//export go_volley_table_device
func go_volley_table_device(h C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return withTable("volley_table_device", h, func(t *table.Table) error {
		*out = register(&deviceObject{b: t.Backend()})
		return nil
	})
}

//export go_volley_table_column
func go_volley_table_column(h C.uintptr_t, name *C.char, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_table_column", t, func(k *keeper) (work, error) {
		o, err := kept[*tableObject](k, "table", h)
		if err != nil {
			return nil, err
		}
		called, err := text("name", name)
		if err != nil {
			return nil, err
		}
		at := o.t.Schema().FieldIndices(called)
		if len(at) == 0 {
			var names []string
			for _, f := range o.t.Schema().Fields() {
				names = append(names, f.Name)
			}
			return nil, expr.UnknownColumn(called, names)
		}
		return func(ctx context.Context) (outcome, error) {
			c, err := wholeColumn(ctx, o.t, at[0])
			if err != nil {
				return outcome{}, err
			}
			return give(out, newColumn(c, o.t.Backend(), nil)), nil
		}, nil
	})
}

// wholeColumn is column i of a table in one piece.
func wholeColumn(ctx context.Context, t *table.Table, i int) (c *memory.Column, err error) {
	chunks := t.Chunks()
	if len(chunks) == 1 {
		return chunks[0].Column(i).Retain(), nil
	}
	b := t.Backend()
	err = onStream(ctx, b, func(s device.Stream) error {
		if len(chunks) == 0 {
			c, err = b.FromScalars(ctx, s, t.Schema().Field(i).Type, nil)
			return err
		}
		var parts []*memory.Column
		for _, chunk := range chunks {
			parts = append(parts, chunk.Column(i))
		}
		c, err = b.Concat(ctx, s, parts)
		return err
	})
	return c, err
}

//export go_volley_table_to
func go_volley_table_to(h, d, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_table_to", t, func(k *keeper) (work, error) {
		o, err := kept[*tableObject](k, "table", h)
		if err != nil {
			return nil, err
		}
		b, err := backend(d)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := o.t.To(ctx, b)
			return giveFailable(out, &tableObject{made}, err)
		}, nil
	})
}

//export go_volley_table_format
func go_volley_table_format(h C.uintptr_t, head, tail C.int64_t, out **C.char) C.int32_t {
	return withTable("volley_table_format", h, func(t *table.Table) error {
		var b strings.Builder
		f := table.Format{Head: int(head), Tail: int(tail), Types: true}
		if head == 0 && tail == 0 {
			f.Head = 10
		}
		if err := t.Print(&b, f); err != nil {
			return err
		}
		return giveText(out, strings.ReplaceAll(b.String(), "\x00", "\\0"))
	})
}

//export go_volley_table_free
func go_volley_table_free(h C.uintptr_t) C.int32_t { return free[*tableObject]("volley_table_free", h) }

// address is the first byte of a slice, for C to look at.
func address(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return unsafe.Pointer(&C.vly_zeros[0])
	}
	return unsafe.Pointer(&b[0])
}
