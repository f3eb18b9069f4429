package main

import (
	"context"
	"io"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/collective/tune"
)

// deps is what the commands need from the library below, as functions, so that
// tests can stand in for them. A command whose function is nil does not exist.
// Every function stops within 100 ms of the end of its context.
type deps struct {
	// machine describes the machine.
	machine func() report.Machine
	// calibrate measures the bandwidth of memory with a number of threads.
	calibrate func(ctx context.Context, threads int) (report.Bandwidth, error)
	// devices lists the devices found and those that could not be used.
	devices func(ctx context.Context) ([]deviceInfo, error)
	// flights runs the suite of that name.
	flights func(ctx context.Context, o flightsOptions, to report.Sink, p progress.Progress) error
	// columnar is the suite of that name.
	columnar *columnarSuite
	// gemm and transfer run the suites of those names.
	gemm     func(ctx context.Context, o gemmOptions, to report.Sink, p progress.Progress) error
	transfer func(ctx context.Context, o transferOptions, to report.Sink, p progress.Progress) error
	// gemmPeers is the race at products against other libraries; nil where there is none.
	gemmPeers *gemmPeerSuite
	// tpch is the suite of that name; nil where there is none.
	tpch *tpchSuite
	// collective is the suite of that name; nil where there is none.
	collective *collectiveSuite
	// distributed is the suite of that name; nil where there is none.
	distributed *distributedSuite
	// loader is the suite of that name; nil where there is none.
	loader *loaderSuite
	// convert converts files.
	convert *converter
}

// deviceInfo is a line of "volley devices".
type deviceInfo struct {
	Device      string `json:"device"`                 // the name that --device takes, such as "cpu"
	Description string `json:"description,omitempty"`  // the maker's name for it
	Threads     int    `json:"threads,omitempty"`      // hardware threads or compute units
	MemoryBytes int64  `json:"memory_bytes,omitempty"` // its memory
	Unavailable string `json:"unavailable,omitempty"`  // why it cannot be used; empty when it can
}

// benchOptions is what every suite is told.
type benchOptions struct {
	Devices []string         // names; empty means every device found
	Threads int              // threads that an engine on the CPU may use
	Runs    int              // timed runs of each step
	Limit   report.Bandwidth // what the machine's memory can do
}

// flightsOptions is what the suite "flights" is told.
type flightsOptions struct {
	benchOptions
	Data     string // the Parquet file of flights
	Airports string // the CSV file of airports
}

// columnarSuite is the suite "columnar" and the operations that it knows.
type columnarSuite struct {
	ops []string
	run func(ctx context.Context, o columnarOptions, to report.Sink, p progress.Progress) error
	// peers is the race against other libraries; nil where there is none.
	peers *peerSuite
	// growth runs ours at several sizes; nil where there is nothing for it.
	growth *growthSuite
}

// growthSuite is how time grows with rows.
type growthSuite struct {
	ops   []string // operations that it knows
	usual []string // those that run if nobody names others
	run   func(ctx context.Context, o columnarOptions, sizes []int64, to report.Sink, p progress.Progress) error
}

// peerSuite is a race against other libraries.
type peerSuite struct {
	names []string // of the peers
	ops   []string // operations that are raced
	run   func(ctx context.Context, o peerOptions, to report.Sink, p progress.Progress) error
	// memory measures what memory each needs; serve makes this process one of ours for it.
	memory func(ctx context.Context, o peerOptions, to report.Sink, p progress.Progress) error
	serve  func(ctx context.Context, engine string, threads int, in io.Reader, out io.Writer) error
}

// peerOptions is what the race over columns is told.
type peerOptions struct {
	columnarOptions
	Python string   // the interpreter that has the peers
	Peers  []string // their names
}

// columnarOptions is what the suite "columnar" is told.
type columnarOptions struct {
	benchOptions
	Rows int64    // rows of each operation's input
	Ops  []string // operations, each one that the suite knows
}

// tpchSuite is the suite "tpch", its queries and the engines that it races against.
type tpchSuite struct {
	queries, peers []string
	run            func(ctx context.Context, o tpchOptions, to report.Sink, p progress.Progress) error
	// memory measures what memory queries need; serve makes this process one of ours for it.
	memory func(ctx context.Context, o tpchOptions, to report.Sink, p progress.Progress) error
	serve  func(ctx context.Context, engine string, threads int, in io.Reader, out io.Writer) error
}

// tpchOptions is what the suite "tpch" is told.
type tpchOptions struct {
	benchOptions
	Scale   float64  // of the data
	Data    string   // the folder of the data; empty where it is to be made
	Files   bool     // queries read files
	Queries []string // names
	Python  string   // the interpreter that has the peers
	Peers   []string // their names; none for ours alone
}

// gemmOptions is what the suite "gemm" is told.
type gemmOptions struct {
	benchOptions
	Rows int64 // elements of a matrix at most
}

// gemmPeerSuite is a race at products against other libraries.
type gemmPeerSuite struct {
	names []string // of the peers
	run   func(ctx context.Context, o gemmPeerOptions, to report.Sink, p progress.Progress) error
}

// gemmPeerOptions is what the race at products is told.
type gemmPeerOptions struct {
	gemmOptions
	Python string   // the interpreter that has the peers
	Peers  []string // their names
}

// collectiveSuite is the suite "collective" and what it knows.
type collectiveSuite struct {
	ops, devices, peers []string
	launched            []string // transports that are measured where asked for only
	run                 func(ctx context.Context, o collectiveOptions, to report.Sink, p progress.Progress) error
	// tune measures transports for a tuning table.
	tune func(ctx context.Context, transports []string, p progress.Progress) ([]*tune.Machine, error)
	// rank makes the process one of the suite's ranks.
	rank func(ctx context.Context, what string) error
}

// collectiveOptions is what the suite "collective" is told.
type collectiveOptions struct {
	benchOptions
	Ops, Transports, Peers []string // names that the suite knows
	Sizes                  []int64  // bytes
	Ranks                  []int    // numbers of ranks
	MPICH, Python          string   // where peers are
}

// distributedSuite is the suite "distributed" and what it knows.
type distributedSuite struct {
	ops, peers []string
	run        func(ctx context.Context, o distributedOptions, to report.Sink, p progress.Progress) error
	// rank makes the process one of the suite's ranks.
	rank func(ctx context.Context) error
}

// distributedOptions is what the suite "distributed" is told.
type distributedOptions struct {
	benchOptions
	Rows       int64    // of each table
	Ops, Peers []string // names that the suite knows
	Ranks      []int    // numbers of ranks
	Python     string   // the interpreter that has the peers
}

// loaderSuite is the suite "loader" and its engines, ours first.
type loaderSuite struct {
	engines []string
	ops     []string
	data    []string // names of sets that are no files
	run     func(ctx context.Context, o loaderOptions, to report.Sink, p progress.Progress) error
}

// loaderOptions is what the suite "loader" is told.
type loaderOptions struct {
	benchOptions
	Engines, Ops         []string // names that the suite knows
	Rows, Columns, Batch int64
	Data                 []string // names of sets, and paths
	Flights, Python      string   // the folder of the flights; the interpreter that has the engines
}

// transferOptions is what the suite "transfer" is told.
type transferOptions struct {
	benchOptions
	Rows    int64   // values of eight bytes that each copy moves
	LinkGBs float64 // what the link to the device carries one way; 0 where not known
}

// converter converts files between the formats whose names it gives, a subset
// of those of package storage.
type converter struct {
	formats []string
	run     func(ctx context.Context, o convertOptions, p progress.Progress) (convertResult, error)
}

// convertOptions is what a conversion is told.
type convertOptions struct {
	In, Out  string // paths
	From, To string // formats
	Lenient  bool   // count and skip rows that cannot be read
}

// convertResult is what a conversion did.
type convertResult struct {
	Rows    int64 `json:"rows"`    // rows written
	Skipped int64 `json:"skipped"` // rows left out because they could not be read
}
