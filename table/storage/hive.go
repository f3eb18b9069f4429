package storage

import (
	"context"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage/internal/csv"
)

// hiveNull is the name of the folder of rows whose key is null.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// hive is the columns that folders named key=value say, as Hive, Spark and pandas write
// them: their values are in no file. nil is none.
type hive struct {
	fields []arrow.Field
	groups []hiveGroup
}

// HiveFolder is the folder below which folders named key=value give columns. Where it is
// empty it is the part of a pattern in front of the first * ? or [, and of files that
// are named one by one the folder that all of them are in: of a single one, none gives
// columns.
type HiveFolder string

// or is the folder for each file, or those given.
func (f HiveFolder) or(within []string) []string {
	if f == "" {
		return within
	}
	all := make([]string, len(within))
	for i := range all {
		all[i] = string(f)
	}
	return all
}

// hiveGroup is files behind each other whose folders say the same.
type hiveGroup struct {
	paths  []string
	texts  []string // of the values
	values []kernels.Scalar
}

// folders are the keys and values of a path, below a folder that it lies in.
func folders(path, within string) (keys, values []string) {
	dir, within := filepath.ToSlash(filepath.Dir(path)), filepath.ToSlash(filepath.Clean(within))
	if within != "." {
		dir = strings.TrimPrefix(dir, within)
	}
	for _, part := range strings.Split(dir, "/") {
		k, v, is := strings.Cut(part, "=")
		if !is || k == "" {
			continue
		}
		for _, text := range []*string{&k, &v} {
			if plain, err := url.PathUnescape(*text); err == nil {
				*text = plain
			}
		}
		keys, values = append(keys, k), append(values, v)
	}
	return keys, values
}

// hiveOf finds the keys of files, each below a folder, which must be the same for all.
func hiveOf(paths, within []string, off bool) (*hive, error) {
	if off || len(paths) == 0 {
		return nil, nil
	}
	keys, _ := folders(paths[0], within[0])
	h := &hive{}
	for i, path := range paths {
		own, values := folders(path, within[i])
		if !slices.Equal(own, keys) {
			return nil, &Error{Path: path, Kind: device.ErrMismatch, Text: "its folders have the keys [" + strings.Join(own, ", ") + "], those of the first file [" + strings.Join(keys, ", ") + "]: read them apart, or with NoHive"}
		}
		if last := len(h.groups) - 1; last >= 0 && slices.Equal(h.groups[last].texts, values) {
			h.groups[last].paths = append(h.groups[last].paths, path)
		} else {
			h.groups = append(h.groups, hiveGroup{paths: []string{path}, texts: values})
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	for i, key := range keys {
		if slices.Contains(keys[:i], key) {
			return nil, &Error{Path: paths[0], Kind: device.ErrMismatch, Text: "two of its folders have the key " + key}
		}
		h.fields = append(h.fields, arrow.Field{Name: key, Type: h.typeOf(i), Nullable: true})
	}
	for k := range h.groups {
		g := &h.groups[k]
		for i, text := range g.texts {
			g.values = append(g.values, hiveValue(h.fields[i].Type, text))
		}
	}
	return h, nil
}

// typeOf is int64, date32 or utf8, whatever all values of key i are.
func (h *hive) typeOf(i int) arrow.DataType {
	g := csv.NewGuess()
	for _, one := range h.groups {
		if one.texts[i] != hiveNull {
			g.Add([]byte(one.texts[i]))
		}
	}
	switch {
	case g.Integer():
		return arrow.PrimitiveTypes.Int64
	case g.Date():
		return arrow.FixedWidthTypes.Date32
	}
	return arrow.BinaryTypes.String
}

func hiveValue(t arrow.DataType, text string) kernels.Scalar {
	if text == hiveNull {
		return kernels.Null(t)
	}
	switch t.ID() {
	case arrow.INT64:
		v, _ := csv.ParseInt([]byte(text), -1<<63, 1<<63-1)
		return kernels.Int(t, v)
	case arrow.DATE32:
		v, _ := csv.ParseDate(csv.Trim([]byte(text)))
		return kernels.Int(t, v)
	}
	return kernels.Text(t, text)
}

// schema is the columns of the files and behind them those of the folders. A column
// that the files have themselves is read from them.
func (h *hive) schema(inFiles *arrow.Schema) *arrow.Schema {
	if h == nil {
		return inFiles
	}
	fields := inFiles.Fields()
	for _, f := range h.fields {
		if len(inFiles.FieldIndices(f.Name)) == 0 {
			fields = append(fields, f)
		}
	}
	return arrow.NewSchema(fields, nil)
}

// split parts a schema that schema gave, or columns of it, into those of the files and
// the numbers of those of the folders.
func (h *hive) split(want, inFiles *arrow.Schema) (files *arrow.Schema, keys []int) {
	var fields []arrow.Field
	for _, f := range want.Fields() {
		if len(inFiles.FieldIndices(f.Name)) > 0 {
			fields = append(fields, f)
			continue
		}
		keys = append(keys, slices.IndexFunc(h.fields, func(k arrow.Field) bool { return k.Name == f.Name }))
	}
	return arrow.NewSchema(fields, nil), keys
}

// of is the group of a file.
func (h *hive) of(path string) *hiveGroup {
	return &h.groups[slices.IndexFunc(h.groups, func(g hiveGroup) bool { return slices.Contains(g.paths, path) })]
}

// may reports whether rows of a group may pass a predicate, by its values alone.
func (g *hiveGroup) may(h *hive, predicate *expr.Bound) bool {
	return predicate == nil || predicate.MayBeTrue(func(column string) (expr.Range, bool) {
		i := slices.IndexFunc(h.fields, func(f arrow.Field) bool { return f.Name == column })
		if i < 0 || !g.values[i].Valid() {
			return expr.Range{}, false
		}
		return expr.Range{Min: g.values[i], Max: g.values[i], Rows: -1}, true
	})
}

// with puts columns of the folders behind those of a batch on the host, which it takes over.
func (g *hiveGroup) with(from memory.Allocator, b *table.Batch, want *arrow.Schema, keys []int) (*table.Batch, error) {
	defer b.Release()
	columns := make([]*memory.Column, 0, want.NumFields())
	for i := range b.NumColumns() {
		columns = append(columns, b.Column(i).Retain())
	}
	for _, k := range keys {
		c, err := constant(from, g.values[k], b.Len())
		if err != nil {
			for _, c := range columns {
				c.Release()
			}
			return nil, err
		}
		columns = append(columns, c)
	}
	return table.NewBatch(want, b.Len(), columns)
}

// constant is a column of one value.
func constant(from memory.Allocator, v kernels.Scalar, rows int64) (*memory.Column, error) {
	one, err := kernels.FromScalars(from, v.Type(), []kernels.Scalar{v})
	if err != nil || rows == 1 {
		return one, err
	}
	defer one.Release()
	return csv.Repeat(from, one, rows)
}

// scan reads group after group, of which of gives the source without the columns of folders.
func (h *hive) scan(b *kernels.Backend, o table.ScanOptions, name string, inFiles *arrow.Schema, of func(paths []string) flow.SplitSource) (flow.Splits, error) {
	want, err := project(name, h.schema(inFiles), o.Columns)
	if err != nil {
		return nil, err
	}
	r := &hiveSplits{hive: h, backend: b, options: o, inFiles: inFiles, want: want, of: of, groups: h.groups}
	files, keys := h.split(want, inFiles)
	r.keys = keys
	if o.Columns != nil {
		r.options.Columns = []string{}
		for _, f := range files.Fields() {
			r.options.Columns = append(r.options.Columns, f.Name)
		}
	}
	r.options.Keys = slices.DeleteFunc(slices.Clone(o.Keys), func(k flow.KeyTest) bool { return h.names([]string{k.Column}) })
	if o.Predicate != nil {
		if r.predicate, err = o.Predicate.Bind(h.schema(inFiles)); err != nil {
			return nil, inFile(name, "predicate", err, device.ErrMismatch)
		}
		if _, err := o.Predicate.Bind(inFiles); err != nil { // it asks for keys, which no row group has
			r.options.Predicate = nil
		}
	}
	return r, nil
}

// names reports whether a folder says one of the columns.
func (h *hive) names(columns []string) bool {
	return h != nil && slices.ContainsFunc(h.fields, func(f arrow.Field) bool { return slices.Contains(columns, f.Name) })
}

// hiveSplits are the splits of files in folders of keys.
type hiveSplits struct {
	hive      *hive
	backend   *kernels.Backend
	options   table.ScanOptions
	inFiles   *arrow.Schema // of the first file
	want      *arrow.Schema
	keys      []int // of want, behind the columns of the files
	predicate *expr.Bound
	of        func(paths []string) flow.SplitSource
	groups    []hiveGroup // yet to read
	at        *hiveScan
}

// hiveScan is the scan of a group, which ends with the last of its users: who lists its
// splits, and they.
type hiveScan struct {
	flow.Splits
	group *hiveGroup
	users atomic.Int64
}

func (s *hiveScan) drop() error {
	if s.users.Add(-1) > 0 {
		return nil
	}
	return s.Splits.Close()
}

// Next is the next split of the files.
func (r *hiveSplits) Next(ctx context.Context) (flow.Split, error) {
	for {
		if r.at == nil {
			if len(r.groups) == 0 {
				return nil, io.EOF
			}
			group := &r.groups[0]
			r.groups = r.groups[1:]
			if !group.may(r.hive, r.predicate) {
				continue
			}
			if err := r.open(ctx, group); err != nil {
				return nil, err
			}
		}
		s, err := r.at.Next(ctx)
		if err == nil {
			r.at.users.Add(1)
			return &hiveSplit{Split: s, of: r, at: r.at}, nil
		}
		if err != io.EOF {
			return nil, err
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
}

func (r *hiveSplits) open(ctx context.Context, group *hiveGroup) error {
	source := r.of(group.paths)
	have, err := source.Schema(ctx)
	if err == nil {
		err = sameColumns(group.paths[0], r.inFiles, have, r.options.Columns == nil)
	}
	if err != nil {
		return err
	}
	splits, err := source.Splits(ctx, r.backend, r.options)
	if err == nil {
		r.at = &hiveScan{Splits: splits, group: group}
		r.at.users.Store(1)
	}
	return err
}

// Close ends the listing. Splits that are out are read on.
func (r *hiveSplits) Close() error {
	if r.at == nil {
		return nil
	}
	at := r.at
	r.at = nil
	return at.drop()
}

// hiveSplit is a split of a group's files.
type hiveSplit struct {
	flow.Split
	of *hiveSplits
	at *hiveScan
}

// Next adds the keys' columns.
func (s *hiveSplit) Next(ctx context.Context) (*table.Batch, error) {
	b, err := s.Split.Next(ctx)
	if err != nil {
		return nil, err
	}
	out, err := s.at.group.with(hostMemory(s.of.backend), b, s.of.want, s.of.keys)
	return out, inFile(s.at.group.paths[0], "", err, nil)
}

// Close closes the split.
func (s *hiveSplit) Close() {
	s.Split.Close()
	_ = s.at.drop() // files that were only read
}

// partition adds the folders' columns to pieces of files.
func (p *Pieces) partition(h *hive, from memory.Allocator) {
	if h == nil {
		return
	}
	inFiles := p.schema
	p.schema = h.schema(inFiles)
	of := map[string]*hiveGroup{}
	for k := range h.groups {
		for _, path := range h.groups[k].paths {
			of[path] = &h.groups[k]
		}
	}
	for i := range p.pieces {
		one, g := &p.pieces[i], of[p.pieces[i].path]
		spans, read, words := one.spans, one.read, one.words
		one.spans = func(want *arrow.Schema) []span {
			files, _ := h.split(want, inFiles)
			return spans(files)
		}
		one.read = func(ctx context.Context, want *arrow.Schema, there *fetched, emit func(*table.Batch) error) error {
			files, keys := h.split(want, inFiles)
			return read(ctx, files, there, func(b *table.Batch) error {
				b, err := g.with(from, b, want, keys)
				if err != nil {
					return inFile(one.path, one.part, err, nil)
				}
				return emit(b)
			})
		}
		if words != nil {
			one.words = func(ctx context.Context, want *arrow.Schema, there *fetched, as []arrow.DataType) (*WordGroup, error) {
				if _, keys := h.split(want, inFiles); len(keys) > 0 {
					return nil, nil
				}
				return words(ctx, want, there, as)
			}
		}
	}
}
