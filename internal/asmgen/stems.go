package main

// stem is a family of loops: one file here, one in the folder that it is for.
type stem struct {
	folder string
	name   string
	make   func(*gen)
}

const (
	kernels = "kernels/cpu"
	packed  = "internal/bitpack"
	fields  = "internal/delimit"
	sums    = "internal/crc32c"
	orders  = "dataloader/order"
	copies  = "internal/rowcopy"
	past    = "internal/pastcopy"
	added   = "internal/pastsum"
)

// stems are all families, by name.
var stems = []stem{
	{kernels, "arithmetic", arithmetic},
	{kernels, "ask", ask},
	{kernels, "axpy", axpyLoops},
	{kernels, "bitmap", bitmap},
	{packed, "bits", bitsLoops},
	{kernels, "choose", choose},
	{kernels, "compare", compare},
	{kernels, "convert", convert},
	{kernels, "decimal", decimals},
	{kernels, "filter", filter},
	{sums, "fold", crc},
	{kernels, "hash", hash},
	{kernels, "heads", heads},
	{kernels, "histogram", histogram},
	{fields, "marks", marks},
	{kernels, "lines", lines},
	{kernels, "network", network},
	{orders, "network", feistel},
	{kernels, "pairs", pairs},
	{past, "pastcopy", pastCopy},
	{added, "pastsum", pastSums},
	{kernels, "peak", peak},
	{packed, "pick", pickLoop},
	{kernels, "place", place},
	{packed, "placed", placedLoop},
	{kernels, "reduce", reduce},
	{copies, "rowcopy", rowCopy},
	{packed, "rows", rowsLoop},
	{kernels, "retrace", retrace},
	{kernels, "scan", scan},
	{kernels, "sieve", sieve},
	{packed, "spread", spreadLoop},
	{kernels, "take", take},
	{kernels, "textwords", textWords},
	{kernels, "tile", tileLoops},
	{kernels, "turn", turnLoops},
	{kernels, "unary", unary},
}
