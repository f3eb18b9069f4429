package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/bench/collective"
	"github.com/volley-go/volley/bench/columnar"
	"github.com/volley-go/volley/bench/distributed"
	"github.com/volley-go/volley/bench/flights"
	"github.com/volley-go/volley/bench/gemm"
	"github.com/volley-go/volley/bench/loader"
	"github.com/volley-go/volley/bench/peers"
	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/tpch"
	"github.com/volley-go/volley/bench/transfer"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cuda"
)

// wire joins the commands to the library. It and convert_run.go are the only
// places where the command names the packages that do its work.
func wire() deps {
	return deps{
		machine:   report.ThisMachine,
		calibrate: report.Calibrate,
		devices:   listDevices,
		flights:   runFlights,
		columnar: &columnarSuite{
			ops: columnar.Names(), run: runColumnar,
			peers:  &peerSuite{names: peers.Names(), ops: peers.Operations(), run: runPeers, memory: runNeeds, serve: servePeer},
			growth: &growthSuite{ops: peers.InMemory(), usual: peers.GrowthOperations(), run: runGrowth},
		},
		tpch:      &tpchSuite{queries: tpch.Names(), peers: tpch.Peers(), run: runTPCH, memory: runTPCHNeeds, serve: serveTPCH},
		gemm:      runGEMM,
		transfer:  runTransfer,
		gemmPeers: &gemmPeerSuite{names: peers.GEMMPeers(), run: runGEMMPeers},
		collective: &collectiveSuite{
			ops: collective.Operations(), devices: collective.Devices(), peers: collective.Peers(), run: runCollective, rank: collective.Rank,
			launched: collective.Launched(), tune: calibrateTransports,
		},
		distributed: &distributedSuite{ops: distributed.Names(), peers: distributed.Peers(), run: runDistributed, rank: distributed.Rank},

		loader:  &loaderSuite{engines: loader.Engines(), ops: loader.Ops(), data: []string{loader.Made, loader.Flights}, run: runLoader},
		convert: &converter{formats: []string{"parquet", "csv", "arrow", "arrows"}, run: runConvert},
	}
}

func listDevices(context.Context) ([]deviceInfo, error) {
	var found []deviceInfo
	for _, d := range volley.Devices() {
		i := deviceInfo{Device: nameOf(d)}
		if d.Err != nil {
			i.Unavailable = d.Err.Error()
		} else {
			i.Description, i.Threads, i.MemoryBytes = d.Info.Model, d.Info.Units, d.Info.Memory
		}
		found = append(found, i)
	}
	return found, nil
}

// backends opens the devices named, or all that are found but for those without
// all kernels, of which it tells p. close gives them back.
func backends(o benchOptions, p progress.Progress) (all []*kernels.Backend, close func() error, err error) {
	names := o.Devices
	if len(names) == 0 {
		for _, d := range volley.Devices() {
			if d.Err == nil {
				names = append(names, d.Info.Name)
			}
		}
	}
	before := runtime.GOMAXPROCS(o.Threads)
	close = func() error {
		runtime.GOMAXPROCS(before)
		var errs []error
		for _, b := range all {
			errs = append(errs, b.Close())
		}
		return errors.Join(errs...)
	}
	for _, name := range names {
		b, err := volley.Open(name)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("--device %s: %w", name, err), close())
		}
		if missing := b.Set.Missing(); len(missing) > 0 && len(o.Devices) == 0 {
			p.Start(fmt.Sprintf("%s is left out: it has no kernels %s", name, strings.Join(missing, ", ")), 0)
			p.Done()
			if err := b.Close(); err != nil {
				return nil, nil, errors.Join(err, close())
			}
			continue
		}
		all = append(all, b)
	}
	return all, close, nil
}

func runFlights(ctx context.Context, o flightsOptions, to report.Sink, p progress.Progress) error {
	all, close, err := backends(o.benchOptions, p)
	if err != nil {
		return err
	}
	host, err := volley.Open("cpu")
	if err != nil {
		return errors.Join(err, close())
	}
	err = flights.Run(ctx, flights.Options{
		Data: o.Data, Airports: o.Airports, Backends: all, Host: host, Runs: o.Runs, Threads: o.Threads, Limit: o.Limit,
	}, to, p)
	return errors.Join(err, host.Close(), close())
}

func runColumnar(ctx context.Context, o columnarOptions, to report.Sink, p progress.Progress) error {
	all, close, err := backends(o.benchOptions, p)
	if err != nil {
		return err
	}
	err = columnar.Run(ctx, columnar.Options{
		Backends: all, Rows: o.Rows, Ops: o.Ops, Runs: o.Runs, Threads: o.Threads, Limit: o.Limit,
	}, to, p)
	return errors.Join(err, close())
}

func runPeers(ctx context.Context, o peerOptions, to report.Sink, p progress.Progress) error {
	o.Devices = []string{"cpu"}
	all, close, err := backends(o.benchOptions, p)
	if err != nil {
		return err
	}
	err = peers.Run(ctx, peers.Options{
		Backend: all[0], Python: []string{o.Python}, Peers: o.Peers, Rows: o.Rows, Ops: o.Ops, Rounds: o.Runs, Threads: o.Threads, Limit: o.Limit,
	}, to, p)
	return errors.Join(err, close())
}

func runTPCH(ctx context.Context, o tpchOptions, to report.Sink, p progress.Progress) error {
	if len(o.Peers) > 0 {
		o.Devices = []string{"cpu"} // as the peers
	}
	given, err := o.given(ctx, p)
	if err != nil {
		return err
	}
	all, close, err := backends(o.benchOptions, p)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b *kernels.Backend) int { // the CPU first: others are held against it
		return strings.Compare(fmt.Sprint(a.Device.Name() != "cpu"), fmt.Sprint(b.Device.Name() != "cpu"))
	})
	given.Seen = map[string]*tpch.Answer{}
	for _, b := range all {
		given.Backend = b
		if failed := tpch.Run(ctx, given, to, p); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", b.Device.Name(), failed))
		}
	}
	return errors.Join(err, close())
}

// given are the options of the suite, with the data made where none is named.
func (o tpchOptions) given(ctx context.Context, p progress.Progress) (tpch.Options, error) {
	given := tpch.Options{Folder: o.Data, Scale: o.Scale, Files: o.Files, Queries: o.Queries, Python: []string{o.Python}, Peers: o.Peers, Rounds: o.Runs, Threads: o.Threads}
	if o.Data != "" {
		return given, nil
	}
	var err error
	given.Folder, err = tpch.Generate(ctx, o.Scale, o.Python, p)
	return given, err
}

func runTPCHNeeds(ctx context.Context, o tpchOptions, to report.Sink, p progress.Progress) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	given, err := o.given(ctx, p)
	if err != nil {
		return err
	}
	return tpch.Needs(ctx, given, []string{self, "bench", "tpch", "serve"}, to, p)
}

func serveTPCH(ctx context.Context, engine string, threads int, in io.Reader, out io.Writer) error {
	return onHost(threads, func(b *kernels.Backend) error { return tpch.Serve(ctx, b, engine, in, out) })
}

func runNeeds(ctx context.Context, o peerOptions, to report.Sink, p progress.Progress) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return peers.Needs(ctx, peers.Options{
		Python: []string{o.Python}, Peers: o.Peers, Rows: o.Rows, Ops: o.Ops, Rounds: o.Runs, Threads: o.Threads,
	}, []string{self, "bench", "columnar", "serve"}, to, p)
}

func servePeer(ctx context.Context, engine string, threads int, in io.Reader, out io.Writer) error {
	return onHost(threads, func(b *kernels.Backend) error { return peers.Serve(ctx, b, engine, in, out) })
}

// onHost serves with the CPU's backend.
func onHost(threads int, serve func(*kernels.Backend) error) error {
	all, close, err := backends(benchOptions{Devices: []string{"cpu"}, Threads: threads}, progress.Nothing())
	if err != nil {
		return err
	}
	return errors.Join(serve(all[0]), close())
}

func runGrowth(ctx context.Context, o columnarOptions, sizes []int64, to report.Sink, p progress.Progress) error {
	o.Devices = []string{"cpu"}
	all, close, err := backends(o.benchOptions, p)
	if err != nil {
		return err
	}
	err = peers.Grow(ctx, peers.Options{Backend: all[0], Ops: o.Ops, Rounds: o.Runs, Threads: o.Threads, Limit: o.Limit}, sizes, to, p)
	return errors.Join(err, close())
}

func runGEMMPeers(ctx context.Context, o gemmPeerOptions, to report.Sink, p progress.Progress) error {
	o.Devices = []string{"cpu"}
	all, close, err := backends(o.benchOptions, p)
	if err != nil {
		return err
	}
	err = peers.GEMM(ctx, peers.GEMMOptions{
		Backend: all[0], Python: []string{o.Python}, Peers: o.Peers, Elements: o.Rows, Rounds: o.Runs, Threads: o.Threads,
	}, to, p)
	return errors.Join(err, close())
}

func runGEMM(ctx context.Context, o gemmOptions, to report.Sink, p progress.Progress) error {
	all, close, err := backends(o.benchOptions, p)
	if err != nil {
		return err
	}
	var engines []gemm.Engine
	for _, b := range all {
		engines = append(engines, gemmEngines(b, p)...)
	}
	err = gemm.Run(ctx, gemm.Options{Engines: engines, Rows: o.Rows, Runs: o.Runs, Threads: o.Threads}, to, p)
	return errors.Join(err, close())
}

// gemmEngines are the ways in which a backend's device can multiply; p is told
// why a CUDA device has one only.
func gemmEngines(b *kernels.Backend, p progress.Progress) []gemm.Engine {
	if !strings.HasPrefix(b.Device.Name(), "cuda:") {
		return []gemm.Engine{{Name: "volley", Backend: b}}
	}
	own := gemm.Engine{Name: "volley", Backend: cuda.Own(b)}
	library, err := cuda.BLAS(b.Device)
	if err != nil {
		p.Start(fmt.Sprintf("cublas is left out: %v", err), 0)
		p.Done()
		return []gemm.Engine{own}
	}
	p.Start("cublas is "+library, 0)
	p.Done()
	return []gemm.Engine{own, {Name: "cublas", Backend: b}}
}

func runTransfer(ctx context.Context, o transferOptions, to report.Sink, p progress.Progress) error {
	all, close, err := backends(o.benchOptions, p)
	if err != nil {
		return err
	}
	err = transfer.Run(ctx, transfer.Options{
		Backends: all, Rows: o.Rows, Runs: o.Runs, Threads: o.Threads, LinkGBs: o.LinkGBs, Limit: o.Limit,
	}, to, p)
	return errors.Join(err, close())
}

func runCollective(ctx context.Context, o collectiveOptions, to report.Sink, p progress.Progress) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return collective.Run(ctx, collective.Options{
		Self: []string{self, "bench", "collective", "--rank"}, Peers: o.Peers, Places: collective.Places{MPICH: o.MPICH, Python: o.Python},
		Devices: o.Transports, Ops: o.Ops, Sizes: o.Sizes, Ranks: o.Ranks, Rounds: o.Runs, Limit: o.Limit,
	}, to, p)
}

func runDistributed(ctx context.Context, o distributedOptions, to report.Sink, p progress.Progress) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.Devices = []string{"cpu"}
	all, close, err := backends(o.benchOptions, p)
	if err != nil {
		return err
	}
	err = distributed.Run(ctx, distributed.Options{
		Backend: all[0], Self: []string{self, "bench", "distributed", "--rank"}, Rows: o.Rows, Ops: o.Ops, Ranks: o.Ranks,
		Python: []string{o.Python}, Peers: o.Peers, Rounds: o.Runs, Threads: o.Threads,
	}, to, p)
	return errors.Join(err, close())
}

func runLoader(ctx context.Context, o loaderOptions, to report.Sink, p progress.Progress) error {
	return loader.Run(ctx, loader.Options{
		Python: o.Python, Engines: o.Engines, Ops: o.Ops, Rows: o.Rows, Columns: o.Columns, Data: o.Data, Flights: o.Flights, Batch: o.Batch, Rounds: o.Runs, Threads: o.Threads,
	}, to, p)
}

// nameOf is the name that opens a device, or its kind where there is none.
func nameOf(d volley.Found) string {
	if d.Info.Name != "" {
		return d.Info.Name
	}
	return d.Kind
}
