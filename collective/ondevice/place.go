package ondevice

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/nccl"
)

// place is where a reduction is computed.
type place int

const (
	byHost    place = iota
	byKernels       // of the device's Set
	byNCCL
)

var ncclTypes = map[collective.Type]nccl.Type{
	collective.Int8: nccl.Int8, collective.Int32: nccl.Int32, collective.Int64: nccl.Int64,
	collective.Uint8: nccl.Uint8, collective.Uint32: nccl.Uint32, collective.Uint64: nccl.Uint64,
	collective.Float16: nccl.Float16, collective.BFloat16: nccl.BFloat16, collective.Float32: nccl.Float32, collective.Float64: nccl.Float64,
}

var ncclOps = map[string]nccl.Op{"sum": nccl.Sum, "prod": nccl.Prod, "min": nccl.Min, "max": nccl.Max, "avg": nccl.Avg}

// ncclOp is NCCL's name of a reduction. Averages are sums that the kernels divide, as the
// host does, but for 16-bit floats, which they have not got.
func ncclOp(t collective.Type, op collective.Op) nccl.Op {
	if isAvg(op) && arrowTypes[t] != nil {
		return nccl.Sum
	}
	return ncclOps[op.String()]
}

func isAvg(op collective.Op) bool { return !op.User() && op.String() == collective.Avg.String() }

func isFloat(t collective.Type) bool { return t >= collective.Float16 }

// by decides for vectors.
func (d *Comm) by(in, out Vector, op collective.Op) place {
	if in.host() || out.host() {
		return byHost
	}
	return d.where(in.Type, op, d.carries(in, out))
}

// where decides for a type. NCCL's reductions are taken where they are the host's, or
// nearly: its order of a sum of floats is not the same every time, and its minima and
// maxima of floats drop NaN.
func (d *Comm) where(t collective.Type, op collective.Op, carried bool) place {
	if op.User() {
		return byHost
	}
	_, there := ncclTypes[t]
	_, known := ncclOps[op.String()]
	ordered := op.String() == collective.Min.String() || op.String() == collective.Max.String()
	if carried && there && known && !(isFloat(t) && (ordered || d.c.Deterministic())) && (!isAvg(op) || arrowTypes[t] == nil || d.divides(t)) {
		return byNCCL
	}
	if known && d.folds(t, op) {
		return byKernels
	}
	return byHost
}

// folds says whether the kernels have what a reduction needs.
func (d *Comm) folds(t collective.Type, op collective.Op) bool {
	typ := arrowTypes[t]
	if typ == nil {
		return false
	}
	set := d.b.Set
	if op.String() == collective.Min.String() || op.String() == collective.Max.String() {
		logic := set.Logic.Func != nil && set.Logic.Types.Has(arrow.BOOL)
		return set.Compare.Func != nil && set.Compare.Types.Has(typ.ID()) && set.IfElse.Func != nil && set.IfElse.Types.Has(typ.ID()) && (logic || !isFloat(t))
	}
	if isAvg(op) {
		return d.divides(t)
	}
	return set.Arithmetic.Func != nil && set.Arithmetic.Types.Has(typ.ID())
}

// divides says whether the kernels can divide by the number of ranks, which has to be a
// number of the type.
func (d *Comm) divides(t collective.Type) bool {
	typ := arrowTypes[t]
	if typ == nil || d.b.Set.Arithmetic.Func == nil || !d.b.Set.Arithmetic.Types.Has(typ.ID()) {
		return false
	}
	largest := map[collective.Type]int{collective.Int8: math.MaxInt8, collective.Uint8: math.MaxUint8, collective.Int16: math.MaxInt16, collective.Uint16: math.MaxUint16}
	most, small := largest[t]
	return !small || d.c.Size() <= most
}

// Explain says where the reduction of a vector in the device's memory is computed, and
// what carries it.
func (d *Comm) Explain(t collective.Type, op collective.Op) string {
	name := d.b.Device.Name()
	if d.b.Device.Place().HostAccessible() {
		return fmt.Sprintf("%s of %s: the memory of %s is the host's", op, t, name)
	}
	carrier := "carried through pinned memory"
	if d.direct != nil {
		carrier = "carried by NCCL"
	}
	switch d.where(t, op, d.direct != nil) {
	case byNCCL:
		return fmt.Sprintf("%s of %s: on %s, by NCCL", op, t, name)
	case byKernels:
		return fmt.Sprintf("%s of %s: on %s, by its kernels, %s", op, t, name, carrier)
	}
	return fmt.Sprintf("%s of %s: on the host, since the kernels of %s do not have it", op, t, name)
}
