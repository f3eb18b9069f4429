package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

// tier is an instruction set that files are made for.
type tier struct {
	name   string // "avx2"; part of the files' names
	suffix string // "AVX2"; the end of the functions' names
	bytes  int    // of a vector register
}

// tiers are those above generic. avx2 stands for AVX2, FMA, BMI1,
// BMI2 and POPCNT, avx512 for these and F, BW, DQ, VL and CD: what a function
// may use. See kernels/cpu/tiers_amd64.go.
var tiers = []tier{
	{"avx2", "AVX2", 32},
	{"avx512", "AVX512", 64},
}

// gen is one pair of files while it is written. Its methods are avo's, and a
// few that say what every function here needs.
type gen struct {
	*build.Context
	tier
	functions int
	labels    int
}

func newGen(t tier) *gen {
	g := &gen{Context: build.NewContext(), tier: t}
	g.ConstraintExpr("!purego")
	return g
}

// wide reports whether the tier is avx512.
func (g *gen) wide() bool { return g.bytes == 64 }

// function begins a function whose name gets the tier's suffix. doc is what it
// does, without its name: by the loop that it equals.
func (g *gen) function(name, signature, doc string) {
	g.functions++
	g.Function(name + g.suffix)
	g.Attributes(attr.NOSPLIT)
	g.SignatureExpr("func" + signature)
	lines := strings.Split(name+g.suffix+" "+strings.TrimSpace(doc), "\n")
	g.Doc(lines...)
	g.Pragma("noescape")
}

// vector is a new register as wide as the tier's.
func (g *gen) vector() reg.VecVirtual {
	if g.wide() {
		return g.ZMM()
	}
	return g.YMM()
}

// base and length are the parts of a slice that is a parameter.
func (g *gen) base(param string) reg.Register { return g.Load(g.Param(param).Base(), g.GP64()) }

func (g *gen) length(param string) reg.Register { return g.Load(g.Param(param).Len(), g.GP64()) }

// label is a name that no other label of the file has.
func (g *gen) label(name string) string {
	g.labels++
	return fmt.Sprintf("%s%d", name, g.labels)
}

// count runs body n times, n in a register that becomes 0; n may be 0.
func (g *gen) count(n reg.Register, body func()) {
	top, end := g.label("loop"), g.label("end")
	g.TESTQ(n, n)
	g.JZ(operand.LabelRef(end))
	g.Label(top)
	body()
	g.DECQ(n)
	g.JNZ(operand.LabelRef(top))
	g.Label(end)
}

// advance adds a number of bytes to pointers.
func (g *gen) advance(bytes int, pointers ...reg.Register) {
	for _, p := range pointers {
		g.ADDQ(operand.U32(bytes), p)
	}
}

// at is the memory that a pointer points to, some bytes on.
func at(p reg.Register, offset int) operand.Mem { return operand.Mem{Base: p, Disp: offset} }

// leave ends a function that used vector registers.
func (g *gen) leave() {
	g.VZEROUPPER()
	g.RET()
}

// print is the assembly and the Go declarations, of a package.
func (g *gen) print(pkg string) (text, stubs []byte, err error) {
	f, err := g.Result()
	if err != nil {
		return nil, nil, err
	}
	if err := pass.Compile.Execute(f); err != nil {
		return nil, nil, err
	}
	c := printer.Config{Argv: []string{"go", "generate", "./kernels/cpu"}, Pkg: pkg}
	if text, err = printer.NewGoAsm(c).Print(f); err != nil {
		return nil, nil, err
	}
	stubs, err = printer.NewStubs(c).Print(f)
	return text, stubs, err
}

// component is a parameter, or a part of one.
type component = gotypes.Component
