package gpu

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// programRows is the number of rows that one group of a fused kernel computes,
// and programBits the most bitmaps that it writes: each takes a byte of local
// memory a row.
const (
	programRows = 1024
	programBits = 24
)

// programText writes the kernel of a program, in the shared dialect: one pass
// over the rows, in which every step is a variable and a bit that says whether
// it is null. Scalars are arguments, so that programs that differ in them alone
// are one kernel. The steps call the functions that the kernels of the same
// names are made of.
type programText struct {
	p        *kernels.Program
	nullable []bool // whether a step's value may be null
	params   []string
	body     []string
	fails    bool // some step may find a bad value
}

// cTypes are the dialect's names of types, by kind.
var cTypes = map[kind]string{
	kindBool: "u32", kindI8: "i8", kindI16: "i16", kindI32: "i32", kindI64: "i64", kindU8: "u8", kindU16: "u16", kindU32: "u32", kindU64: "u64",
	kindF32: "f32", kindF64: "f64",
}

func cType(t arrow.DataType) string { return cTypes[kindOf(t)] }

func isFloat(t arrow.DataType) bool { return kernels.FloatTypes.Has(t.ID()) }

// writeProgram is the text of a program. hasNulls tells for a column whether it
// has a validity bitmap.
func writeProgram(p *kernels.Program, hasNulls func(column int) bool) (*programText, error) {
	w := &programText{p: p, nullable: make([]bool, len(p.Steps))}
	for i, s := range p.Steps {
		if err := w.step(i, s, hasNulls); err != nil {
			return nil, err
		}
	}
	for k, r := range p.Results {
		t := p.Steps[r].Type
		if t.ID() == arrow.BOOL {
			w.param("GLOBAL u32 *o%d", k)
		} else {
			w.param("GLOBAL %s *o%d", cType(t), k)
			w.line("o%d[i] = v%d;", k, r)
		}
		if w.nullable[r] {
			w.param("GLOBAL u32 *ok%d", k)
		}
	}
	if len(w.bitmaps()) > programBits {
		return nil, device.Errorf(device.ErrUnsupported, "", "", "%d bitmaps as results of one program", len(w.bitmaps()))
	}
	for _, b := range w.bitmaps() {
		w.line("%s_bits[row] = (u8)%s;", b.out, b.from)
	}
	if w.fails {
		w.param("GLOBAL u64 *bad")
		w.line("if (wrong) STORE64(bad, (u64)1);")
	}
	w.param("i64 n")
	return w, nil
}

// programBitmap is a result that is a bitmap: values of bools, or validity.
type programBitmap struct{ out, from string }

func (w *programText) bitmaps() []programBitmap {
	var all []programBitmap
	for k, r := range w.p.Results {
		if w.p.Steps[r].Type.ID() == arrow.BOOL {
			all = append(all, programBitmap{fmt.Sprintf("o%d", k), fmt.Sprintf("v%d", r)})
		}
		if w.nullable[r] {
			all = append(all, programBitmap{fmt.Sprintf("ok%d", k), fmt.Sprintf("k%d", r)})
		}
	}
	return all
}

func (w *programText) param(format string, args ...any) {
	w.params = append(w.params, fmt.Sprintf(format, args...))
}

func (w *programText) line(format string, args ...any) {
	w.body = append(w.body, fmt.Sprintf(format, args...))
}

// kernel is the complete text, the entry under the name given.
func (w *programText) kernel(entry string) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, s := range w.p.Steps {
		if s.Kind == kernels.StepApply && !seen[s.Function.Name()] {
			seen[s.Function.Name()] = true
			fmt.Fprintf(&b, "#line 1 %q\n%s\n", s.Function.Name(), s.Function.Source())
		}
	}
	b.WriteString("#line 1 \"program\"\n")
	for _, h := range []string{"scalar.h", "arithmetic.h", "unary.h", "cast.h"} {
		fmt.Fprintf(&b, "#include %q\n", h)
	}
	fmt.Fprintf(&b, "KERNEL(GROUP) %s(%s) {\n", entry, strings.Join(w.params, ", "))
	for _, m := range w.bitmaps() {
		fmt.Fprintf(&b, "  SHARED u8 %s_bits[%d];\n", m.out, programRows)
	}
	fmt.Fprintf(&b, "  i64 base = BID * %d;\n", programRows)
	fmt.Fprintf(&b, "  for (i32 row = TID; row < %d; row += GROUP) {\n", programRows)
	b.WriteString("    i64 i = base + row;\n")
	for _, m := range w.bitmaps() {
		fmt.Fprintf(&b, "    %s_bits[row] = 0;\n", m.out)
	}
	b.WriteString("    if (i < n) {\n")
	if w.fails {
		b.WriteString("      u32 wrong = 0;\n")
	}
	for i, s := range w.p.Steps {
		fmt.Fprintf(&b, "      %s v%d = 0; u32 k%d = 1;\n", cType(s.Type), i, i)
	}
	for _, l := range w.body {
		fmt.Fprintf(&b, "      %s\n", l)
	}
	b.WriteString("    }\n  }\n")
	if len(w.bitmaps()) > 0 {
		// One barrier, outside of the loop, and then a word an item: PoCL 3.1 gave wrong bits where every turn of the loop had one.
		fmt.Fprintf(&b, "  BARRIER();\n  if (TID < %d && base + TID * 32 < n) {\n", programRows/32)
		for _, m := range w.bitmaps() {
			fmt.Fprintf(&b, "    { u32 word = 0; for (i32 j = 0; j < 32; j++) word |= (u32)%s_bits[TID * 32 + j] << j; %s[(base >> 5) + TID] = word; }\n", m.out, m.out)
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// step writes one step.
func (w *programText) step(i int, s kernels.Step, hasNulls func(int) bool) error {
	var null bool
	for _, a := range s.Args {
		null = null || w.nullable[a]
	}
	w.nullable[i] = null
	switch s.Kind {
	case kernels.StepColumn:
		w.nullable[i] = hasNulls(s.Column)
		w.column(i, s)
		return nil
	case kernels.StepScalar:
		w.nullable[i] = !s.Value.Valid()
		w.param("%s l%d", cType(s.Type), i)
		w.line("v%d = l%d; k%d = %d;", i, i, i, number(s.Value.Valid()))
		return nil
	case kernels.StepLogic:
		w.logic(i, s)
		return nil
	case kernels.StepIsNull:
		w.nullable[i] = false
		w.isNull(i, s)
		return nil
	case kernels.StepFillNull:
		x, y := s.Args[0], s.Args[1]
		w.nullable[i] = w.nullable[x] && w.nullable[y]
		w.line("v%d = k%d ? v%d : v%d; k%d = k%d | k%d;", i, x, x, y, i, x, y)
		return nil
	case kernels.StepIfElse:
		c, x, y := s.Args[0], s.Args[1], s.Args[2]
		w.line("v%d = v%d ? v%d : v%d; k%d = k%d & (v%d ? k%d : k%d);", i, c, x, y, i, c, c, x, y)
		return nil
	}
	if null {
		var all []string
		for _, a := range s.Args {
			if w.nullable[a] {
				all = append(all, fmt.Sprintf("k%d", a))
			}
		}
		w.line("k%d = %s;", i, strings.Join(all, " & "))
	}
	value, fails, err := w.value(s)
	if err != nil {
		return err
	}
	if !fails {
		w.line("v%d = %s;", i, value)
		return nil
	}
	w.fails = true
	w.line("{ u32 bad_ = 0; v%d = %s; if (k%d) wrong |= bad_; }", i, value, i)
	return nil
}

func (w *programText) column(i int, s kernels.Step) {
	if s.Type.ID() == arrow.BOOL {
		w.param("GLOBAL const u8 *c%d", i)
		w.param("i64 c%d_at", i)
		w.line("v%d = bit_at(c%d, c%d_at + i);", i, i, i)
	} else {
		w.param("GLOBAL const %s *c%d", cType(s.Type), i)
		w.param("i64 c%d_at", i)
		w.line("v%d = c%d[c%d_at + i];", i, i, i)
	}
	if w.nullable[i] {
		w.param("GLOBAL const u8 *ck%d", i)
		w.param("i64 ck%d_at", i)
		w.line("k%d = bit_at(ck%d, ck%d_at + i);", i, i, i)
		w.line("v%d = k%d ? v%d : 0;", i, i, i) // what is under a null has no say
	}
}

// logic is Kleene's: values are only looked at where they are known.
func (w *programText) logic(i int, s kernels.Step) {
	x, y := s.Args[0], s.Args[1]
	w.line("{ u32 x = v%d & k%d, y = v%d & k%d, kx = k%d, ky = k%d;", x, x, y, y, x, y)
	switch kernels.LogicOp(s.Op) {
	case kernels.And:
		w.line("v%d = x & y; k%d = (kx & ky) | (kx & (x ^ 1u)) | (ky & (y ^ 1u)); }", i, i)
	case kernels.Or:
		w.line("v%d = x | y; k%d = (kx & ky) | x | y; }", i, i)
	case kernels.Xor:
		w.line("v%d = x ^ y; k%d = kx & ky; }", i, i)
	default:
		w.line("v%d = x & ky & (y ^ 1u); k%d = (kx & ky) | (kx & (x ^ 1u)) | y; }", i, i)
	}
}

func (w *programText) isNull(i int, s kernels.Step) {
	x := s.Args[0]
	switch {
	case kernels.NullTest(s.Op) == kernels.IsNullTest:
		w.line("v%d = k%d ^ 1u;", i, x)
	case kernels.NullTest(s.Op) == kernels.IsValidTest:
		w.line("v%d = k%d;", i, x)
	case isFloat(w.p.Steps[x].Type):
		w.line("v%d = k%d & (u32)(v%d != v%d);", i, x, x, x)
	default:
		w.line("v%d = 0;", i)
	}
}

// value is the expression of a step that is null where an operand is, and
// whether it may set bad_.
func (w *programText) value(s kernels.Step) (text string, fails bool, err error) {
	x := fmt.Sprintf("v%d", s.Args[0])
	t := w.p.Steps[s.Args[0]].Type
	switch s.Kind {
	case kernels.StepArithmetic:
		text, fails = arithmeticText(s, cType(s.Type), x, fmt.Sprintf("v%d", s.Args[1]))
		return text, fails, nil
	case kernels.StepUnary:
		text, fails = unaryText(s, t, x)
		return text, fails, nil
	case kernels.StepCompare:
		return fmt.Sprintf("(u32)(%s %s v%d)", x, compareSigns[s.Op], s.Args[1]), false, nil
	case kernels.StepNot:
		return x + " ^ 1u", false, nil
	case kernels.StepCast:
		text, fails = castText(s, t, x)
		return text, fails, nil
	case kernels.StepApply:
		if s.Function.Source() == "" {
			return "", false, device.Errorf(device.ErrUnsupported, "", "", "function %s was registered without a source for GPUs", s.Function.Name())
		}
		var args []string
		for _, a := range s.Args {
			args = append(args, fmt.Sprintf("v%d", a))
		}
		return fmt.Sprintf("%s(%s)", s.Function.Name(), strings.Join(args, ", ")), false, nil
	}
	return "", false, device.Errorf(device.ErrUnsupported, "", "", "steps of kind %d in a program", int(s.Kind))
}

var compareSigns = [...]string{"==", "!=", "<", "<=", ">", ">="}

func arithmeticText(s kernels.Step, t, x, y string) (text string, fails bool) {
	name := [...]string{"add", "sub", "mul", "div", "mod"}[s.Op]
	division := s.Op >= int(kernels.Divide)
	switch {
	case isFloat(s.Type) || !division && !s.Checked:
		return fmt.Sprintf("%s_%s(%s, %s)", name, t, x, y), false
	case division && !s.Checked: // the least integer by -1 wraps
		return fmt.Sprintf("%s_%s(%s, %s, &bad_); bad_ &= ~BAD_OVERFLOW", name, t, x, y), true
	case division:
		return fmt.Sprintf("%s_%s(%s, %s, &bad_)", name, t, x, y), true
	default:
		return fmt.Sprintf("%s_checked_%s(%s, %s, &bad_)", name, t, x, y), true
	}
}

func unaryText(s kernels.Step, t arrow.DataType, x string) (text string, fails bool) {
	name := [...]string{"neg", "abs", "sign", "sqrt", "exp", "log", "floor", "ceil", "trunc", "round"}[s.Op]
	op := kernels.UnaryOp(s.Op)
	switch {
	case isFloat(t):
		return fmt.Sprintf("%s_%s(%s)", name, cType(t), x), false
	case op >= kernels.Floor:
		return x, false // integers are whole
	case op >= kernels.Sqrt:
		return fmt.Sprintf("%s_f64((f64)%s)", name, x), false
	case s.Checked && op != kernels.Sign:
		return fmt.Sprintf("%s_checked_%s(%s, &bad_)", name, cType(t), x), true
	default:
		return fmt.Sprintf("%s_%s(%s)", name, cType(t), x), false
	}
}

// castText casts between numbers, as the words that cast.h takes.
func castText(s kernels.Step, from arrow.DataType, x string) (text string, fails bool) {
	word := "(u64)" + x
	switch {
	case isFloat(from):
		word = fmt.Sprintf("BITS_F64((f64)%s)", x)
	case kernels.SignedTypes.Has(from.ID()):
		word = "(u64)(i64)" + x
	}
	if kindOf(from) == kindF32 && kindOf(s.Type) == kindF32 {
		return x, false
	}
	word = fmt.Sprintf("cast_word(%d, %s, %d, &bad_)", kindOf(from), word, kindOf(s.Type))
	switch kindOf(s.Type) {
	case kindF64:
		text = fmt.Sprintf("F64_BITS(%s)", word)
	case kindF32:
		text = fmt.Sprintf("F32_BITS(%s)", word)
	default:
		text = fmt.Sprintf("(%s)%s", cType(s.Type), word)
	}
	if s.Wrap {
		text += "; bad_ = 0"
	}
	return text, true
}
