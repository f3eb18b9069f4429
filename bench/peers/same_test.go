package peers

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// TestSameBits: every operation gives the same bits with 1, 2 and 7 threads and on every tier,
// in their order where one is promised. 70,000 rows are more than one morsel. The race detector
// sees no assembly and asks for no answers: it gets the loops in Go on 7 threads.
func TestSameBits(t *testing.T) {
	const rows = 70_000
	ctx := context.Background()
	d := host.New()
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	sets, counts := cpu.Tiers(), []int{1, 2, 7}
	if raceDetector {
		sets, counts = sets[:1], counts[2:]
	}
	for i := range problems {
		p := &problems[i]
		s := &stage{records: p.inputs(rows)}
		if p.file != "" {
			s.file = filepath.Join(t.TempDir(), p.name)
			writeInput(t, &kernels.Backend{Device: d, Set: cpu.Generic()}, p, s)
		}
		for _, ordered := range []bool{false, true}[:map[bool]int{false: 1, true: 2}[p.anyOrder]] {
			var want Fingerprint
			var first string
			for _, set := range sets {
				for _, threads := range counts {
					runtime.GOMAXPROCS(threads)
					at := fmt.Sprintf("%s, ordered %t: %s with %d threads", p.name, ordered || !p.anyOrder, set.Name, threads)
					got, err := bitsOfRun(ctx, &ours{backend: &kernels.Backend{Device: d, Set: set}, ordered: ordered}, p, s)
					if err != nil {
						t.Fatalf("%s: %v", at, err)
					}
					if first == "" {
						want, first = *got, at
					} else if why := got.differs(&want, ordered || !p.anyOrder); why != "" {
						t.Errorf("%s: not what %s gives: %s", at, first, why)
					}
				}
			}
		}
	}
}

// bitsOfRun is the fingerprint of all ways of an operation, which give the same, with all columns
// taken as bits.
func bitsOfRun(ctx context.Context, o *ours, p *problem, s *stage) (f *Fingerprint, err error) {
	ways, _, err := o.load(ctx, p, s)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := o.unload(ctx); err == nil {
			err = e
		}
	}()
	all := slices.Repeat([]kind{exact}, len(p.columns))
	for _, w := range ways {
		way, err := o.way(w.Name)
		if err != nil {
			return nil, err
		}
		got, err := way.run(ctx)
		if err != nil {
			return nil, err
		}
		batches, err := got.batches()
		if err == nil {
			var one *Fingerprint
			if one, err = fingerprint(batches, all, len(all)); err == nil {
				if f == nil {
					f = one
				} else if why := one.differs(f, true); why != "" {
					err = fmt.Errorf("its way %q gives another result: %s", w.Name, why)
				}
			}
		}
		for _, b := range batches {
			b.Release()
		}
		got.Release()
		if err != nil {
			return nil, err
		}
	}
	return f, nil
}

// writeInput writes the file that an operation reads.
func writeInput(t *testing.T, b *kernels.Backend, p *problem, s *stage) {
	t.Helper()
	ctx := context.Background()
	in, err := table.FromRecord(b, s.records["t"])
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	switch p.file {
	case "csv":
		err = storage.WriteCSV(ctx, in, s.file, storage.CSVWriteOptions{})
	case "zstd":
		err = storage.WriteParquet(ctx, in, s.file, storage.ParquetOptions{Compression: storage.CompressionZstd, RowGroupRows: 20_000})
	default:
		err = storage.WriteParquet(ctx, in, s.file, storage.ParquetOptions{RowGroupRows: 20_000})
	}
	if err != nil {
		t.Fatal(err)
	}
}
