package main

// #include "base.h"
import "C"

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/dataloader"
	"github.com/volley-go/volley/dataloader/order"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// defaultBuffer is how many rows the buffer of blocks+buffer has unless told otherwise.
const defaultBuffer = 1 << 16

// loaderPlan is what volley_loader_options say.
type loaderPlan struct {
	options                   dataloader.Options
	state                     *dataloader.State // to go on from, or nil
	blocks                    bool              // shuffle is by blocks through a buffer
	take                      bool              // the loader takes its table over
	buffer, draws             int64
	weights, stratify, groups string
	derive                    []dataloader.Column
	mapped                    *dataloader.BatchMap // makes a table of each batch's rows, or nil
	calls                     *mapCalls            // of it, where nobody has to wait for them; nil else
	device                    device.Device        // nil is none
	pin                       bool
}

// readOrder reads how the rows come.
func (p *loaderPlan) readOrder(c *C.volley_loader_options) (err error) {
	var by string
	for _, t := range []struct {
		name string
		from *C.char
		to   *string
	}{{"shuffle_by", c.shuffle_by, &by}, {"weights", c.weights, &p.weights}, {"stratify", c.stratify, &p.stratify}, {"group", c.group, &p.groups}} {
		if *t.to, err = optional(t.name, t.from); err != nil {
			return err
		}
	}
	given := 0
	for _, is := range []bool{c.shuffle != 0, p.weights != "", p.stratify != "", p.groups != ""} {
		if is {
			given++
		}
	}
	p.buffer, p.draws = int64(c.buffer), int64(c.draws)
	switch {
	case by != "" && by != "rows" && by != "blocks+buffer":
		return mismatch("there is no shuffle_by %q; there are rows, blocks+buffer", by)
	case given > 1:
		return mismatch("shuffle, weights, stratify, group: each is an order of the rows, and one can be given")
	case p.draws < 0 || p.draws > 0 && p.weights == "":
		return mismatch("%d draws: they are of weights", p.draws)
	case p.buffer < 0:
		return mismatch("a buffer of %d rows", p.buffer)
	}
	if p.buffer == 0 {
		p.buffer = defaultBuffer
	}
	if p.blocks = c.shuffle != 0 && by == "blocks+buffer"; p.blocks {
		p.options.Shuffle = false
	}
	return nil
}

// inBlocks is a source with an order by blocks through a buffer: files, and streams.
type inBlocks interface {
	Order(buffer int64, seed uint64) (order.Order, error)
}

// ordered makes the order that the columns of rows, or the blocks of the source, tell.
func (p *loaderPlan) ordered(ctx context.Context, s dataloader.Source, rows *table.Query) (o order.Order, err error) {
	seed := p.options.Seed
	blocks, can := s.(inBlocks)
	switch {
	case p.blocks && !can:
		return nil, mismatch("blocks+buffer is for files and streams: a table in memory is shuffled by rows")
	case p.blocks:
		return blocks.Order(p.buffer, seed)
	case p.weights != "":
		return dataloader.WeightedBy(ctx, rows, p.weights, p.draws, seed)
	case p.stratify != "":
		return dataloader.StratifiedBy(ctx, rows, p.stratify, seed)
	case p.groups != "":
		return dataloader.GroupedBy(ctx, rows, p.groups, seed)
	}
	return nil, nil
}

// open makes the loader of an object, which has what it reads: that is closed too where it fails.
func (p *loaderPlan) open(ctx context.Context, made *loaderObject, s dataloader.Source, rows *table.Query) (_ *loaderObject, err error) {
	made.calls = p.calls
	defer func() {
		if err != nil {
			err = errors.Join(err, made.close())
		}
	}()
	o := p.options
	if o.Order, err = p.ordered(ctx, s, rows); err != nil {
		return nil, err
	}
	b, err := host()
	if err != nil {
		return nil, err
	}
	if p.mapped != nil {
		if s, err = dataloader.MapBatches(ctx, b, s, *p.mapped); err != nil {
			return nil, err
		}
	}
	if len(p.derive) > 0 {
		if s, err = dataloader.DeriveBeside(b, s, p.derive...); err != nil {
			return nil, err
		}
	}
	o.Warn, o.Device, made.device = made.warn, p.device, p.device
	made.ahead = o.Workers != dataloader.InCaller
	if made.files != nil && o.Device == nil { // a ring of this size is wanted again for the next epoch, if a loader is opened for each
		o.Memory = b.Device.Memory()
	}
	if p.pin {
		o.Pinned = p.pinned(made)
	}
	if apart := p.weights + p.groups; o.Features == nil && apart != "" {
		o.Features = featuresBut(s.Schema(), append(slices.Clone(o.Labels), apart))
	}
	if p.state == nil {
		made.l, err = dataloader.New(ctx, s, o)
	} else {
		made.l, err = dataloader.Resume(ctx, s, o, *p.state)
	}
	if err != nil {
		return nil, err
	}
	return made, nil
}

// featuresBut are the names of all columns but some.
func featuresBut(s *arrow.Schema, without []string) []string {
	names := []string{}
	for _, f := range s.Fields() {
		if !slices.Contains(without, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// fileOptions are what volley_file_options say.
type fileOptions struct {
	format  storage.Format
	csv     storage.CSVOptions
	parquet storage.ParquetReadOptions
	ipc     storage.IPCReadOptions
	cache   int64
}

func readFileOptions(p *C.volley_file_options) (o fileOptions, err error) {
	c, err := options("files", p)
	if err != nil {
		return o, err
	}
	format, err := optional("format", c.format)
	if err != nil {
		return o, err
	}
	o.format, o.cache = storage.Format(format), int64(c.cache)
	if o.csv, err = csvOptions(c.csv); err != nil || c.scan == nil {
		return o, err
	}
	o.parquet, o.ipc, err = scanOptions(c.scan)
	return o, err
}

// source is paths, patterns and folders as one source.
func (o fileOptions) source(paths []string) (table.Source, error) {
	var files []string
	var folder storage.HiveFolder // where there is one
	if len(paths) == 1 {
		if info, err := os.Stat(paths[0]); err == nil && info.IsDir() {
			folder = storage.HiveFolder(paths[0])
		}
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil || !info.IsDir() {
			files = append(files, p)
			continue
		}
		inside, err := storage.FilesOf(p)
		if err != nil {
			return nil, err
		}
		files = append(files, inside...)
	}
	if len(files) == 0 {
		return nil, mismatch("no paths")
	}
	format := o.format
	for _, f := range files {
		if o.format != "" {
			break
		}
		one, err := storage.FormatOf(f)
		if err != nil {
			return nil, err
		}
		if format != "" && one != format {
			return nil, mismatch("%s is of %s, and files before it of %s: a loader reads one format", f, one, format)
		}
		format = one
	}
	switch format {
	case storage.FormatParquet:
		o.parquet.HiveFrom = folder
		return storage.Parquet(files...).With(o.parquet), nil
	case storage.FormatIPC, storage.FormatIPCStream:
		o.ipc.HiveFrom = folder
		return storage.IPC(files...).With(o.ipc), nil
	case storage.FormatCSV:
		if o.csv.Delimiter == 0 && strings.EqualFold(filepath.Ext(files[0]), ".tsv") {
			o.csv.Delimiter = '\t'
		}
		o.csv.HiveFrom = folder
		return storage.CSV(o.csv, files...), nil
	}
	return nil, mismatch("there is no format %q; there are parquet, csv, arrow", string(format))
}

//export go_volley_loader_open_files
func go_volley_loader_open_files(paths **C.char, n C.int64_t, f *C.volley_file_options, p *C.volley_loader_options, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_loader_open_files", t, func(k *keeper) (work, error) {
		all, err := texts("paths", paths, n)
		if err != nil {
			return nil, err
		}
		given, err := readFileOptions(f)
		if err != nil {
			return nil, err
		}
		plan, err := loaderOptions(p)
		if err == nil && plan.take {
			err = mismatch("take is of a table, and not of files")
		}
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			b, err := host()
			if err != nil {
				return outcome{}, err
			}
			s, err := given.source(all)
			if err != nil {
				return outcome{}, err
			}
			files, err := dataloader.FromFiles(ctx, b, s, dataloader.FileOptions{Cache: given.cache})
			if err != nil {
				return outcome{}, err
			}
			made, err := plan.open(ctx, &loaderObject{files: files}, files, table.Scan(s).On(b))
			return loaderOutcome(out, made, err)
		}, nil
	})
}

// loaderOutcome hands a loader out, or closes it where nobody is there to take it.
func loaderOutcome(out *C.uintptr_t, made *loaderObject, err error) (outcome, error) {
	if err != nil {
		return outcome{}, err
	}
	return outcome{
		commit:  func() { *out = register(made) },
		discard: func() { _ = made.close() }, // nobody is there to be told
	}, nil
}
