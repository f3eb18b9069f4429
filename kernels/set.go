package kernels

import (
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
)

// Entry is one kernel of one backend: the function, nil where the backend has
// not got it, and the types of its main argument that it takes.
type Entry[F any] struct {
	Func  F
	Types Types
}

// Set is the kernels of one backend. It is a value: a CPU tier copies the tier
// below and overwrites what it does better.
type Set struct {
	Name string // "reference", "generic", "avx2", "opencl"

	Cast       Entry[CastFunc]
	Arithmetic Entry[ArithmeticFunc]
	Unary      Entry[UnaryFunc]
	Temporal   Entry[TemporalFunc]
	Compare    Entry[CompareFunc]
	Match      Entry[MatchFunc]
	Substring  Entry[SubstringFunc]
	Logic      Entry[LogicFunc]
	Not        Entry[NotFunc]
	IsNull     Entry[IsNullFunc]
	FillNull   Entry[FillNullFunc]
	IfElse     Entry[IfElseFunc]
	Hash       Entry[HashFunc]
	Apply      Entry[ApplyFunc]
	Evaluate   Entry[EvaluateFunc]

	Filter    Entry[FilterFunc]
	Take      Entry[TakeFunc]
	Concat    Entry[ConcatFunc]
	Partition Entry[PartitionFunc]

	FilterWhere Entry[FilterWhereFunc] // a condition and filters in one pass; without it they are several
	GatherRows  Entry[GatherRowsFunc]  // rows of columns as a matrix

	Reduce Entry[ReduceFunc]
	MinMax Entry[MinMaxFunc] // two reductions in one; without it they are two
	Scan   Entry[ScanFunc]

	SortIndices Entry[SortIndicesFunc]
	TopK        Entry[TopKFunc]
	SortColumns Entry[SortColumnsFunc] // columns moved along with their keys; without it rows are ordered and taken

	Group     Entry[GroupFunc]
	Aggregate Entry[AggregateFunc]
	GroupBy   Entry[GroupByFunc]
	Unique    Entry[UniqueFunc]
	IsIn      Entry[IsInFunc]
	Members   Entry[MembersFunc] // a set for many calls of IsIn; without it each builds its own

	JoinBuild   Entry[JoinBuildFunc]
	JoinColumns Entry[JoinColumnsFunc] // a whole join; without it it is built, probed and gathered
	Cross       Entry[CrossFunc]

	GEMM      Entry[GEMMFunc]
	GEMV      Entry[GEMVFunc]
	Transpose Entry[TransposeFunc]
}

// Support is one pair that a backend runs.
type Support struct {
	Kernel string // the field of Set
	Type   arrow.Type
}

// Support lists every (kernel, type) pair that the set has a function for, in
// the order of the fields and then of the type ids.
func (s *Set) Support() []Support {
	var all []Support
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if v.Field(i).Kind() != reflect.Struct || v.Field(i).FieldByName("Func").IsNil() {
			continue
		}
		for _, id := range v.Field(i).FieldByName("Types").Interface().(Types).IDs() {
			all = append(all, Support{v.Type().Field(i).Name, id})
		}
	}
	return all
}

// optional are the kernels that others stand in for, which take longer, and
// GatherRows, which no query calls.
var optional = map[string]bool{
	"Evaluate": true, "FilterWhere": true, "GatherRows": true, "MinMax": true, "SortColumns": true, "Members": true, "JoinColumns": true,
}

// Missing lists the kernels, by field, that the set has no function for: a
// backend that lacks some cannot run every query. Kernels that others stand in
// for are not among them: without Evaluate, say, the steps of a program are done
// one by one.
func (s *Set) Missing() []string {
	var all []string
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Struct && f.FieldByName("Func").IsNil() && !optional[v.Type().Field(i).Name] {
			all = append(all, v.Type().Field(i).Name)
		}
	}
	return all
}
