package gpu

import "github.com/volley-go/volley/kernels"

// set is the kernels of this device: a line for each.
func (e *Engine) set() *kernels.Set {
	s := &kernels.Set{Name: e.dialect.Name}
	s.Cast = kernels.Entry[kernels.CastFunc]{Func: e.cast, Types: castTypes}
	s.Arithmetic = kernels.Entry[kernels.ArithmeticFunc]{Func: e.arithmetic, Types: kernels.FixedTypes}
	s.Unary = kernels.Entry[kernels.UnaryFunc]{Func: e.unary, Types: kernels.NumberTypes | kernels.DecimalTypes | kernels.DurationTypes}
	s.Temporal = kernels.Entry[kernels.TemporalFunc]{Func: e.temporal, Types: kernels.TemporalTypes &^ kernels.DurationTypes}
	s.Compare = kernels.Entry[kernels.CompareFunc]{Func: e.compare, Types: kernels.KeyTypes}
	s.Match = kernels.Entry[kernels.MatchFunc]{Func: e.match, Types: kernels.BinaryTypes}
	s.Substring = kernels.Entry[kernels.SubstringFunc]{Func: e.substring, Types: kernels.BinaryTypes}
	s.Logic = kernels.Entry[kernels.LogicFunc]{Func: e.logic, Types: kernels.BoolTypes}
	s.Not = kernels.Entry[kernels.NotFunc]{Func: e.not, Types: kernels.BoolTypes}
	s.IsNull = kernels.Entry[kernels.IsNullFunc]{Func: e.isNull, Types: kernels.AllTypes}
	s.FillNull = kernels.Entry[kernels.FillNullFunc]{Func: e.fillNull, Types: kernels.KeyTypes}
	s.IfElse = kernels.Entry[kernels.IfElseFunc]{Func: e.ifElse, Types: kernels.KeyTypes}
	s.Hash = kernels.Entry[kernels.HashFunc]{Func: e.hash, Types: kernels.KeyTypes}
	s.Apply = kernels.Entry[kernels.ApplyFunc]{Func: e.apply, Types: kernels.FunctionTypes}
	s.Evaluate = kernels.Entry[kernels.EvaluateFunc]{Func: e.evaluate, Types: kernels.ProgramTypes}
	s.Filter = kernels.Entry[kernels.FilterFunc]{Func: e.filter, Types: kernels.AllTypes}
	s.Take = kernels.Entry[kernels.TakeFunc]{Func: e.take, Types: kernels.AllTypes}
	s.GatherRows = kernels.Entry[kernels.GatherRowsFunc]{Func: e.gatherRowsInto, Types: kernels.RowTypes}
	s.Concat = kernels.Entry[kernels.ConcatFunc]{Func: e.concat, Types: kernels.AllTypes}
	s.Partition = kernels.Entry[kernels.PartitionFunc]{Func: e.partition, Types: kernels.KeyTypes}
	s.Reduce = kernels.Entry[kernels.ReduceFunc]{Func: e.reduce, Types: kernels.KeyTypes}
	s.Scan = kernels.Entry[kernels.ScanFunc]{Func: e.scan, Types: kernels.ScanTypes}
	s.Group = kernels.Entry[kernels.GroupFunc]{Func: e.group, Types: kernels.KeyTypes}
	s.Aggregate = kernels.Entry[kernels.AggregateFunc]{Func: e.aggregate, Types: kernels.KeyTypes}
	s.GroupBy = kernels.Entry[kernels.GroupByFunc]{Func: e.groupBy, Types: kernels.KeyTypes}
	s.Unique = kernels.Entry[kernels.UniqueFunc]{Func: e.unique, Types: kernels.KeyTypes}
	s.IsIn = kernels.Entry[kernels.IsInFunc]{Func: e.isIn, Types: kernels.KeyTypes}
	s.JoinBuild = kernels.Entry[kernels.JoinBuildFunc]{Func: e.joinBuild, Types: kernels.KeyTypes}
	s.Cross = kernels.Entry[kernels.CrossFunc]{Func: e.cross}
	s.SortIndices = kernels.Entry[kernels.SortIndicesFunc]{Func: e.sortIndices, Types: kernels.KeyTypes}
	s.TopK = kernels.Entry[kernels.TopKFunc]{Func: e.topK, Types: kernels.KeyTypes}
	s.GEMM = kernels.Entry[kernels.GEMMFunc]{Func: e.gemm, Types: kernels.FloatTypes}
	s.GEMV = kernels.Entry[kernels.GEMVFunc]{Func: e.gemv, Types: kernels.FloatTypes}
	s.Transpose = kernels.Entry[kernels.TransposeFunc]{Func: e.transpose, Types: kernels.FloatTypes}
	return s
}
