package lint

// Package is one row of the table of permitted imports. The rows stand in the order in which data walks through the house; a package may
// import only packages that stand above it, so the arrows can only point one way.
type Package struct {
	Path  string   // relative to the module's root; "." is the root package; "x/..." is x and everything below it
	May   []string // the packages of this module that it may import: paths of rows above
	Tests []string // what its test files may import besides; test kits are open to every test and not listed
	Cgo   bool     // may import "C"
}

// testKits may be imported by the test files of every package.
var testKits = []string{"device/devicetest", "internal/cuemu", "internal/ncclemu", "internal/guard", "internal/slots", "internal/backends", "kernels/kerneltest", "flow/flowtest"}

var (
	bytesAndDevices = []string{"memory", "device"}
	columns         = []string{"memory", "device", "kernels"}
	theCPU          = []string{"device/host", "kernels/cpu"}
	theOracle       = []string{"kernels/reference"}
	tables          = join(columns, []string{"expr", "table", "table/storage"})
)

// Packages is the table of permitted imports. A package of the module that has no row fails the check: give it one, in its place in the
// order, with as few imports as it needs. A row whose package is gone fails too: a row comes and goes with its package.
var Packages = []Package{
	// Tools of the house: they know nothing of what stands below.
	{Path: "internal/lint"},
	{Path: "internal/typecheck"},
	{Path: "internal/dl"},
	{Path: "internal/fma"},
	{Path: "internal/float16"},
	{Path: "internal/crc32c"},
	{Path: "internal/release"},
	{Path: "internal/numa"},
	{Path: "internal/rowcopy"},
	{Path: "internal/pastcopy"},
	{Path: "internal/pastsum", Tests: []string{"memory", "internal/pastcopy"}},
	{Path: "internal/processors"},
	{Path: "internal/slots"}, // what tests change of hash tables
	{Path: "internal/capigen"},
	{Path: "internal/licenses"},
	{Path: "internal/tier"},
	{Path: "internal/bitpack", May: []string{"internal/tier"}},
	{Path: "internal/delimit", May: []string{"internal/tier"}},

	// Bytes, and the machines that they live on.
	{Path: "memory"},
	{Path: "internal/guard", May: []string{"memory"}},
	{Path: "device", May: []string{"memory"}},
	{Path: "device/host", May: join(bytesAndDevices, []string{"internal/processors"})},
	{Path: "device/cuda", May: join(bytesAndDevices, []string{"internal/dl"})},
	{Path: "device/opencl", May: join(bytesAndDevices, []string{"internal/dl"})},
	{Path: "device/devicetest", May: join(bytesAndDevices, []string{"device/host", "internal/guard"})},

	// Kernels: contracts, then one folder per backend. CUDA and OpenCL never import each other.
	{Path: "kernels", May: join(bytesAndDevices, []string{"internal/float16"}), Tests: join(theCPU, theOracle)},
	{Path: "kernels/reference", May: join(columns, []string{"internal/fma"})},
	{Path: "kernels/cpu", May: join(columns, []string{"device/host", "internal/fma", "internal/numa", "internal/pastcopy", "internal/processors", "internal/slots"}), Tests: theOracle},
	{Path: "kernels/gpu", May: columns, Tests: join(theOracle, []string{"device/host", "device/opencl", "kernels/kerneltest"})},
	{Path: "internal/cuemu", May: []string{"internal/dl", "kernels/gpu"}},
	{Path: "internal/ncclemu", May: []string{"internal/dl"}},
	{Path: "internal/ncclemu/build", May: []string{"internal/ncclemu"}},
	{Path: "internal/cuemu/build", May: []string{"internal/cuemu"}},
	{Path: "kernels/cuda", May: join(columns, []string{"internal/dl", "device/cuda", "kernels/gpu"}), Tests: []string{"device/host"}},
	{Path: "internal/ptxgen", May: []string{"internal/dl", "kernels/gpu", "kernels/cuda"}},
	{Path: "kernels/opencl", May: join(columns, []string{"device/opencl", "kernels/gpu"}), Tests: join(theOracle, []string{"device/host"})},
	{Path: "kernels/kerneltest/internal/remote", May: join(columns, theOracle, []string{"device/host", "device/devicetest"})},
	{Path: "kernels/kerneltest", May: join(columns, theOracle, []string{"device/host", "device/devicetest", "internal/guard", "kernels/kerneltest/internal/remote"}), Tests: theCPU},
	{Path: "internal/backends", May: join(columns, theCPU, []string{"device/devicetest", "kernels/kerneltest", "device/cuda", "device/opencl", "kernels/cuda", "kernels/opencl"})},

	// The front door: the one list of backends. What stands below takes an opened backend and does not import the list.
	{Path: ".", May: join(columns, theCPU, []string{"device/cuda", "device/opencl", "kernels/cuda", "kernels/opencl"}),
		Tests: []string{"expr", "table", "table/storage"}},

	// Expressions, tables.
	{Path: "expr", May: join(columns, []string{"internal/processors"}), Tests: join(theCPU, theOracle)},
	{Path: "flow", May: join(bytesAndDevices, []string{"expr", "kernels"})},
	{Path: "flow/profile"},
	{Path: "flow/exec", May: join(bytesAndDevices, []string{"flow", "flow/profile", "internal/slots"}), Tests: []string{"kernels"}},
	{Path: "flow/flowtest", May: join(bytesAndDevices, []string{"kernels", "internal/backends", "expr", "flow", "flow/exec"})},
	{Path: "flow/stats", May: columns},
	{Path: "flow/moments", May: columns},
	{Path: "table", May: join(columns, []string{"internal/processors", "expr", "flow", "flow/profile", "flow/exec", "flow/stats", "flow/moments"}), Tests: join(theCPU, theOracle)},
	{Path: "table/storage/internal/filemeta"},
	{Path: "table/storage/internal/csv", May: []string{"memory", "device", "internal/delimit"}, Tests: []string{"kernels"}},
	{Path: "table/storage", May: join(columns, []string{"internal/bitpack", "internal/processors", "internal/tier", "expr", "flow", "flow/exec", "table", "table/storage/internal/csv", "table/storage/internal/filemeta"}), Tests: theCPU},

	// Many devices, many machines. The packages below do not import them: a loader takes rank and size as two integers.
	{Path: "collective/algorithm"},
	{Path: "collective/timeline"},
	{Path: "collective/transport", May: []string{"internal/crc32c"}},
	{Path: "collective/transport/...", May: []string{"memory", "internal/dl", "internal/crc32c", "internal/pastcopy", "internal/processors", "internal/release", "collective/transport", "collective/transport/..."}},
	{Path: "collective/transport/nccl", May: join(bytesAndDevices, []string{"internal/dl", "device/cuda"})},
	{Path: "collective/transport/pmix", May: []string{"internal/dl"}, Tests: []string{"collective"}},
	{Path: "collective/transport/mpi", May: []string{"internal/crc32c", "internal/dl", "collective/transport", "collective/transport/..."}, Tests: []string{"collective"}},
	{Path: "collective", May: join(columns, []string{"internal/float16", "internal/pastsum", "internal/release", "kernels/cpu", "collective/algorithm", "collective/timeline", "collective/transport", "collective/transport/..."}), Tests: theCPU},
	{Path: "collective/...", May: join(columns, []string{"collective/algorithm", "collective/timeline", "collective/transport", "collective/transport/...", "collective"}), Tests: theCPU},
	{Path: "collective/internal/queue", May: []string{"device", "collective"}},
	{Path: "collective/internal/direct", May: []string{"device", "device/cuda", "collective/transport/nccl", "collective"},
		Tests: []string{"memory", "device/host", "internal/dl", "collective/transport/..."}},
	{Path: "collective/agree", May: []string{"device", "collective"}, Tests: []string{"collective/transport/..."}},
	{Path: "collective/columns", May: join(columns, []string{"internal/float16", "collective/transport/nccl", "collective", "collective/internal/direct", "collective/internal/queue", "collective/agree"}), Tests: join(theCPU, []string{"collective/transport/..."})},
	{Path: "collective/ondevice", May: join(columns, []string{"collective/transport/nccl", "collective", "collective/internal/direct", "collective/internal/queue"}),
		Tests: join(theCPU, []string{"internal/dl", "device/cuda", "kernels/cuda", "collective/...", "collective/transport/..."})},
	{Path: "collective/faultinject", May: []string{"collective/transport"},
		Tests: join(columns, theCPU, []string{"collective", "collective/algorithm", "collective/columns", "collective/ondevice", "collective/transport/..."})},
	{Path: "collective/metrics", May: []string{"collective"}, Tests: []string{"collective/algorithm", "collective/transport/..."}},
	{Path: "collective/simulate", May: []string{"device", "collective/algorithm", "collective"},
		Tests: []string{"collective/...", "collective/transport/..."}},
	{Path: "collective/tune", May: []string{"device", "kernels", "kernels/cpu", "collective/algorithm", "collective/transport", "collective/transport/...", "collective", "collective/simulate"}},
	{Path: "distributed", May: join(tables, []string{"internal/processors", "collective", "collective/agree", "collective/columns"}),
		Tests: join(theCPU, []string{"internal/dl", "device/cuda", "kernels/cuda", "collective/...", "collective/transport/...", "dataloader"})},
	{Path: "gang", May: join(tables, theCPU, []string{"internal/processors", "collective", "collective/transport", "collective/transport/..."}), Tests: []string{"collective/columns"}},
	{Path: "dataloader/order", May: []string{"device"}},
	{Path: "dataloader", May: join(tables, []string{"internal/bitpack", "internal/float16", "internal/processors", "internal/rowcopy", "dataloader/order"}), Tests: theCPU},

	// Neighbours: each knows one foreign format or library.
	{Path: "interop/arrow15", May: []string{"memory"}},
	{Path: "interop/gonum", May: join(columns, theCPU)},

	// Programs and what only they use. The C interface converts and nothing more; it alone needs cgo.
	{Path: "cgo", May: join(everythingButBench, []string{"internal/processors"}), Cgo: true},
	{Path: "bench/...", May: join(everythingButBench, testKits, theOracle, []string{"internal/processors", "internal/rowcopy", "bench/..."}), Tests: []string{"device/opencl", "kernels/opencl"}},
	{Path: "cmd/volley", May: join(everythingButBench, []string{"bench/...", "internal/processors", "kernels/cuda"})}, // whose GEMM has two engines to be compared
	{Path: "examples/...", May: everythingButBench},
	{Path: "internal/guide", Tests: everythingButBench}, // the samples of README.md and docs/guide
}

// everythingButBench is what a program may use: all packages that are part of the library.
var everythingButBench = join([]string{"flow/profile"}, tables, theCPU, []string{
	".", "collective", "collective/...", "distributed", "gang", "dataloader", "dataloader/order", "interop/arrow15", "interop/gonum",
})

func join(lists ...[]string) []string {
	var all []string
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
