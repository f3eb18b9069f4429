package gpu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// evaluate is the GPU's EvaluateFunc: a kernel made for the program, compiled by
// the device and kept. It moves each column and each result once.
func (e *Engine) evaluate(ctx context.Context, s device.Stream, p *kernels.Program, rows int64, columns []*memory.Column) (out []*memory.Column, err error) {
	if e.dialect.Compile == nil {
		return nil, device.Errorf(device.ErrUnsupported, e.dev.Name(), "", "the device has no compiler")
	}
	c := e.begin(ctx, s)
	defer c.end(&err)
	text, err := writeProgram(p, func(i int) bool { return c.validity(columns[i]).buffer != nil })
	if err != nil {
		return nil, err
	}
	results, bad := c.runProgram(text, p, rows, columns)
	if bad != nil && c.readInt64(bad, 0) != 0 {
		return nil, device.Errorf(device.ErrValue, e.dev.Name(), "", "a value out of range, or a division by zero, in a row of a program of %d steps", len(p.Steps))
	}
	if !c.ok() {
		return nil, c.err
	}
	for _, r := range results {
		out = append(out, c.give(r))
	}
	return out, nil
}

func (c *call) runProgram(text *programText, p *kernels.Program, rows int64, columns []*memory.Column) (results []*memory.Column, bad *memory.Buffer) {
	var args []any
	for _, s := range p.Steps {
		switch s.Kind {
		case kernels.StepColumn:
			args = append(args, c.data(columns[s.Column]))
			if v := c.validity(columns[s.Column]); v.buffer != nil {
				args = append(args, v)
			}
		case kernels.StepScalar:
			args = append(args, scalarArg(s.Value, s.Type))
		}
	}
	parts := make([]memory.Parts, len(p.Results))
	for k, r := range p.Results {
		t := p.Steps[r].Type
		size := bitBytes(rows)
		if t.ID() != arrow.BOOL {
			size = int64(memory.Width(t)) * rows
		}
		parts[k] = memory.Parts{Type: t, Len: rows, Nulls: memory.UnknownNulls, Buffers: []*memory.Buffer{nil, c.result(size)}}
		args = append(args, parts[k].Buffers[1])
		if text.nullable[r] {
			parts[k].Buffers[0] = c.result(bitBytes(rows))
			args = append(args, parts[k].Buffers[0])
		}
	}
	if text.fails {
		bad = c.zeroed(8)
		args = append(args, bad)
	}
	const entry = "program"
	source := text.kernel(entry)
	sum := sha256.Sum256([]byte(source))
	name := "program " + hex.EncodeToString(sum[:8])
	grid := device.Grid{Groups: [3]int64{groupsFor(rows, programRows)}, Items: [3]int{group}}
	c.run(name, entry, func() (device.Source, error) { return c.e.dialect.Compile(name, source) }, grid, append(args, rows)...)
	for _, part := range parts {
		results = append(results, c.column(part))
	}
	return results, bad
}

// scalarArg is a scalar as the argument of its C type; of a null it is 0.
func scalarArg(v kernels.Scalar, t arrow.DataType) any {
	word := uint64(0)
	if v.Valid() {
		word = v.Uint64()
	}
	switch kindOf(t) {
	case kindBool, kindU32:
		return uint32(word)
	case kindI8:
		return int8(word)
	case kindI16:
		return int16(word)
	case kindI32:
		return int32(word)
	case kindU8:
		return uint8(word)
	case kindU16:
		return uint16(word)
	case kindU64:
		return word
	case kindF32:
		return math.Float32frombits(uint32(word))
	case kindF64:
		return math.Float64frombits(word)
	default:
		return int64(word)
	}
}

// apply is the GPU's ApplyFunc: a program of one step.
func (e *Engine) apply(ctx context.Context, s device.Stream, f *kernels.Function, args []kernels.Datum) (*memory.Column, error) {
	if e.dialect.Compile == nil {
		return nil, device.Errorf(device.ErrUnsupported, e.dev.Name(), "", "function %s: the device has no compiler", f.Name())
	}
	p := &kernels.Program{}
	var columns []*memory.Column
	call := kernels.Step{Kind: kernels.StepApply, Type: f.Result(), Function: f}
	for i, a := range args {
		step := kernels.Step{Kind: kernels.StepScalar, Type: f.Args()[i]}
		switch a := a.(type) {
		case *memory.Column:
			step.Kind, step.Column = kernels.StepColumn, len(columns)
			columns = append(columns, a)
		case kernels.Scalar:
			step.Value = a
		}
		p.Steps = append(p.Steps, step)
		call.Args = append(call.Args, i)
	}
	p.Steps = append(p.Steps, call)
	p.Results = []int{len(args)}
	out, err := e.evaluate(ctx, s, p, columns[0].Len(), columns)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}
