package main

// pictures are those of the pages of docs/guide, by the names of the pages.
var pictures = map[string]picture{
	"start": {
		title: "A query reads files, runs on a device and gives a table",
		boxes: []box{
			{0, 0, "flights-1m.parquet", "a million rows", false}, {0, 1, "airports.csv", "3,376 rows", false},
			{1, 0.5, "query", "a plan; nothing runs yet", true}, {2, 0.5, "device", "CPU, CUDA or OpenCL", true}, {3, 0.5, "table", "3 rows × 4 columns", false},
		},
		arrows: []edge{{0, 2, "scan"}, {1, 2, "scan"}, {2, 3, "Collect"}, {3, 4, ""}},
	},
	"queries": {
		title: "A plan before and after the optimiser",
		boxes: []box{
			{0, 0, "scan", "all columns", false}, {1, 0, "join", "", false}, {2, 0, "filter", "distance >= 500", false}, {3, 0, "group", "by state", false},
			{0, 1, "scan", "3 columns, distance >= 500", true}, {1, 1, "filter", "distance >= 500", true}, {2, 1, "join", "", true}, {3, 1, "group", "by state", true},
		},
		arrows: []edge{{0, 1, ""}, {1, 2, ""}, {2, 3, ""}, {4, 5, ""}, {5, 6, ""}, {6, 7, ""}},
		below:  "Above: as written. Below: as run. Explain shows the plan below.",
	},
	"files": {
		title: "A scan skips columns and row groups that the query does not ask for",
		boxes: []box{
			{0, 0, "row group 0", "distance up to 800: skipped", false}, {0, 1, "row group 1", "distance, origin", true}, {0, 2, "row group 2", "distance, origin", true},
			{1, 1.5, "readers", "one a processor", true}, {2, 1.5, "filter", "distance >= 2500", true}, {3, 1.5, "rows", "in the file's order", false},
		},
		arrows: []edge{{1, 3, ""}, {2, 3, ""}, {3, 4, ""}, {4, 5, ""}},
	},
	"python": {
		title: "Columns pass between volley and other libraries through Arrow and DLPack",
		boxes: []box{
			{0, 0, "pandas, Polars", "", false}, {0, 1, "pyarrow, DuckDB", "", false}, {1, 0.5, "vo.Table", "one memory for all", true},
			{2, 0, "NumPy", "", false}, {2, 1, "PyTorch, JAX", "", false},
		},
		arrows: []edge{{0, 2, "Arrow"}, {1, 2, "Arrow"}, {2, 3, "buffer"}, {2, 4, "DLPack"}},
	},
	"c": {
		title: "A program owns handles; the library owns what is behind them",
		boxes: []box{
			{0, 0.5, "your program", "C or C++", false}, {1, 0.5, "handle", "a number", false}, {2, 0.5, "libvolley.so", "volley.h, volley.hpp", true},
			{3, 0, "your arrays", "borrowed", false}, {3, 1, "tables, queries", "counted", true},
		},
		arrows: []edge{{0, 1, "owns"}, {1, 2, ""}, {2, 3, "reads"}, {2, 4, "holds"}},
	},
	"ranks": {
		title: "Four ranks sum their vectors; each ends with the whole sum",
		boxes: []box{
			{0, 0, "rank 0", "[0, 10]", false}, {0, 1, "rank 1", "[1, 10]", false}, {0, 2, "rank 2", "[2, 10]", false}, {0, 3, "rank 3", "[3, 10]", false},
			{1, 1.5, "AllReduce, average", "ring, tree, butterfly, …", true},
			{2, 0, "rank 0", "[1.5, 10]", false}, {2, 1, "rank 1", "[1.5, 10]", false}, {2, 2, "rank 2", "[1.5, 10]", false}, {2, 3, "rank 3", "[1.5, 10]", false},
		},
		arrows: []edge{{0, 4, ""}, {1, 4, ""}, {2, 4, ""}, {3, 4, ""}, {4, 5, ""}, {4, 6, ""}, {4, 7, ""}, {4, 8, ""}},
	},
	"tables": {
		title: "Each rank reads its part; a call moves rows where it must; the result has parts again",
		boxes: []box{
			{0, 0.5, "files", "row groups, blocks", false}, {1, 0, "rank 0", "flights, airports", false}, {1, 1, "rank 1", "flights, airports", false},
			{2, 0.5, "join, group, sort", "on all ranks", true}, {3, 0, "rank 0", "its states", false}, {3, 1, "rank 1", "its states", false},
		},
		arrows: []edge{{0, 1, "scan"}, {0, 2, "scan"}, {1, 3, ""}, {2, 3, ""}, {3, 4, ""}, {3, 5, ""}},
	},
	"engines": {
		title: "An engine places the workers, all or none; the start runs functions on them and gets references; the workers talk to each other",
		boxes: []box{
			{0, 0, "engine", "Dask, Ray, mpirun, …", false}, {0, 1, "start", "run, get", true},
			{1, 0, "rank 0", "comm, send, put", true}, {1, 1, "rank 1", "comm, send, put", true}, {2, 0.5, "their tables", "stay until they are got", false},
		},
		arrows: []edge{{0, 2, "places"}, {1, 3, "runs"}, {2, 4, ""}, {3, 4, ""}},
	},
	"training": {
		title: "Rows are read, shuffled, gathered into a ring of batches, and lent to the training loop",
		boxes: []box{
			{0, 0, "table or files", "", false}, {1, 0, "sampler", "rows by arithmetic", true}, {2, 0, "workers", "gather, derive, decode", true},
			{2, 1, "ring of batches", "memory taken once", true}, {1, 1, "your loop", "x, y", false},
		},
		arrows: []edge{{0, 1, ""}, {1, 2, ""}, {2, 3, ""}, {3, 4, "lent"}},
	},
	"gpu": {
		title: "One program looks for drivers when it runs and opens a device by name",
		boxes: []box{
			{0, 1, "your program", "no toolkit, no cgo", false}, {1, 1, `Open("auto")`, "looks for drivers", true},
			{2, 0, "CUDA", "libcuda.so.1", true}, {2, 1, "OpenCL", "libOpenCL.so.1", true}, {2, 2, "CPU", "always there", true},
		},
		arrows: []edge{{0, 1, ""}, {1, 2, "first"}, {1, 3, "else"}, {1, 4, "else"}},
	},
	"extending": {
		title: "A registered function has a body for the CPU and a source for GPUs",
		boxes: []box{
			{0, 0, "Go, C or Python", "a function over rows", false}, {0, 1, "C99 dialect", "a function of one row", false}, {1, 0.5, "Register", "a name and types", true},
			{2, 0, "CPU", "called by workers", true}, {2, 1, "CUDA, OpenCL", "fused into one kernel", true},
		},
		arrows: []edge{{0, 2, "body"}, {1, 2, "source"}, {2, 3, ""}, {2, 4, ""}},
	},
}
