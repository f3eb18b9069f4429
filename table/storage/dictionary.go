package storage

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// oneDictionary gives a table in which all chunks of a dictionary column have
// one dictionary: t itself where there is nothing to do, else one of columns on
// the host. It is good until release, which gives back all that was made for it:
// its columns share bitmaps with those that they were made of and do not hold
// them.
func oneDictionary(ctx context.Context, t *table.Table, path string) (out *table.Table, release func(), err error) {
	var fields []int
	for i, f := range t.Schema().Fields() {
		if f.Type.ID() == arrow.DICTIONARY {
			fields = append(fields, i)
		}
	}
	chunks := t.Chunks()
	if len(fields) == 0 || len(chunks) < 2 {
		return t, func() {}, nil
	}
	var here []*table.Batch
	release = func() {
		out.Release()
		for _, b := range here {
			b.Release()
		}
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	if !t.Backend().Device.Place().HostAccessible() {
		if chunks, err = downloadAll(ctx, t); err != nil {
			return nil, release, writeError(path, err)
		}
		here = chunks
	}
	a := newArena(hostMemory(t.Backend()), 1<<40)
	defer a.close()
	defer guardWrite(path, &err)
	columns := make([][]*memory.Column, len(chunks))
	defer func() {
		for _, chunk := range columns {
			for _, c := range chunk {
				c.Release()
			}
		}
	}()
	for k, chunk := range chunks {
		for i := range chunk.NumColumns() {
			columns[k] = append(columns[k], chunk.Column(i).Retain())
		}
	}
	for _, i := range fields {
		if err := canceled(ctx, path); err != nil {
			return nil, release, err
		}
		if err := unify(a, columns, i); err != nil {
			return nil, release, writeError(path, err)
		}
	}
	batches := make([]*table.Batch, 0, len(chunks))
	for k := range chunks {
		for i := range columns[k] {
			columns[k][i].Retain() // for the batch
		}
		b, err := table.NewBatch(t.Schema(), chunks[k].Len(), columns[k])
		if err != nil {
			for _, b := range batches {
				b.Release()
			}
			return nil, release, writeError(path, err)
		}
		batches = append(batches, b)
	}
	out, err = table.NewTable(t.Backend(), t.Schema(), batches)
	return out, release, err
}

// unify gives column i of every chunk the dictionary of all.
func unify(a *arena, columns [][]*memory.Column, i int) error {
	var arrays []arrow.Array
	defer func() {
		for _, c := range arrays {
			c.Release()
		}
	}()
	for k := range columns {
		c, err := memory.ToArrow(columns[k][i])
		if err != nil {
			return err
		}
		arrays = append(arrays, c)
	}
	chunked := arrow.NewChunked(arrays[0].DataType(), arrays)
	defer chunked.Release()
	unified, err := array.UnifyChunkedDicts(a, chunked)
	if err != nil {
		return err
	}
	defer unified.Release()
	for k := range columns {
		c, err := a.column(unified.Chunk(k).Data())
		if err != nil {
			return err
		}
		columns[k][i].Release()
		columns[k][i] = c
	}
	return nil
}
