package main

// stem is a family of loops: one file here, one in kernels/cpu.
type stem struct {
	name string
	make func(*gen)
}

// stems are all families, by name.
var stems = []stem{
	{"arithmetic", arithmetic},
	{"axpy", axpyLoops},
	{"bitmap", bitmap},
	{"choose", choose},
	{"compare", compare},
	{"convert", convert},
	{"filter", filter},
	{"hash", hash},
	{"network", network},
	{"pairs", pairs},
	{"peak", peak},
	{"reduce", reduce},
	{"textwords", textWords},
	{"tile", tileLoops},
	{"turn", turnLoops},
	{"unary", unary},
}
