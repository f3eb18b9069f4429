package table

import (
	"maps"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/memory"
)

// notes are numbers that a state's written form carries beside its columns, in the metadata of
// a batch's schema: when it is to be shrunk, what its batches are.
type notes map[string]int64

// with is both.
func (n notes) with(more notes) notes {
	out := maps.Clone(n)
	maps.Copy(out, more)
	return out
}

// notesOf are the notes of a batch.
func notesOf(b *Batch) notes {
	out := notes{}
	meta := b.Schema().Metadata()
	for i, key := range meta.Keys() {
		if v, err := strconv.ParseInt(meta.Values()[i], 10, 64); err == nil {
			out[key] = v
		}
	}
	return out
}

// written is batches with notes, the first's and those of the others. The references are new.
func written(batches []*Batch, first, others notes) ([]*Batch, error) {
	var out []*Batch
	for i, b := range batches {
		n := others
		if i == 0 {
			n = first
		}
		text := map[string]string{}
		for key, v := range n {
			text[key] = strconv.FormatInt(v, 10)
		}
		meta := arrow.MetadataFrom(text)
		noted, err := withSchema(b, arrow.NewSchema(b.Schema().Fields(), &meta))
		if err != nil {
			exec.ReleaseAll(out)
			return nil, err
		}
		out = append(out, noted)
	}
	return out, nil
}

// withSchema is a batch under another schema of its columns' types, as a new reference.
func withSchema(b *Batch, schema *arrow.Schema) (*Batch, error) {
	columns := make([]*memory.Column, b.NumColumns())
	for i, c := range b.Columns() {
		columns[i] = c.Retain()
	}
	return NewBatch(schema, b.Len(), columns)
}
