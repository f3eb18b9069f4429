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

	FilterWhere FilterWhereFunc // a condition and filters in one pass; nil where they are several
	GatherRows  GatherRowsFunc  // rows of columns as a matrix; nil where there is no such kernel

	Reduce Entry[ReduceFunc]
	MinMax MinMaxFunc // two reductions in one; nil where they are two
	Scan   Entry[ScanFunc]

	SortIndices Entry[SortIndicesFunc]
	TopK        Entry[TopKFunc]
	SortColumns SortColumnsFunc // columns moved along with their keys; nil where rows are ordered and taken

	Group     Entry[GroupFunc]
	Aggregate Entry[AggregateFunc]
	GroupBy   Entry[GroupByFunc]
	Unique    Entry[UniqueFunc]
	IsIn      Entry[IsInFunc]
	Members   MembersFunc // a set for many calls of IsIn; nil where each builds its own

	JoinBuild   Entry[JoinBuildFunc]
	JoinColumns JoinColumnsFunc // a whole join; nil where it is built, probed and gathered
	// JoinsDistinct says whether JoinColumns, told by JoinOptions.Distinct, takes less time
	// than a table does where the keys of so many right rows are close to each other and
	// none comes twice; nil where it never does.
	JoinsDistinct func(rows int64) bool
	Cross         Entry[CrossFunc]

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

// Missing lists the kernels, by field, that the set has no function for: a
// backend that lacks some cannot run every query. Evaluate is no such kernel:
// without it the steps of a program are done one by one.
func (s *Set) Missing() []string {
	var all []string
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Struct && f.FieldByName("Func").IsNil() && v.Type().Field(i).Name != "Evaluate" {
			all = append(all, v.Type().Field(i).Name)
		}
	}
	return all
}
