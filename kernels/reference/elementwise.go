package reference

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// addElementwise puts the reference loops of elementwise kernels into s.
func addElementwise(s *kernels.Set) {
	numbers := kernels.NumberTypes | kernels.DecimalTypes
	duration := kernels.TypesOf(arrow.DURATION)
	s.Cast = kernels.Entry[kernels.CastFunc]{Func: cast, Types: kernels.KeyTypes}
	s.Arithmetic = kernels.Entry[kernels.ArithmeticFunc]{Func: arithmetic, Types: numbers | kernels.TemporalTypes}
	s.Unary = kernels.Entry[kernels.UnaryFunc]{Func: unary, Types: numbers | duration}
	s.Temporal = kernels.Entry[kernels.TemporalFunc]{Func: temporal, Types: kernels.TemporalTypes &^ duration}
	s.Compare = kernels.Entry[kernels.CompareFunc]{Func: compare, Types: kernels.KeyTypes}
	s.Match = kernels.Entry[kernels.MatchFunc]{Func: match, Types: kernels.BinaryTypes}
	s.Substring = kernels.Entry[kernels.SubstringFunc]{Func: substring, Types: kernels.BinaryTypes}
	s.Logic = kernels.Entry[kernels.LogicFunc]{Func: logic, Types: kernels.BoolTypes}
	s.Not = kernels.Entry[kernels.NotFunc]{Func: not, Types: kernels.BoolTypes}
	s.IsNull = kernels.Entry[kernels.IsNullFunc]{Func: isNull, Types: kernels.AllTypes}
	s.FillNull = kernels.Entry[kernels.FillNullFunc]{Func: fillNull, Types: kernels.KeyTypes}
	s.IfElse = kernels.Entry[kernels.IfElseFunc]{Func: ifElse, Types: kernels.KeyTypes}
	s.Hash = kernels.Entry[kernels.HashFunc]{Func: hash, Types: kernels.KeyTypes}
	s.Apply = kernels.Entry[kernels.ApplyFunc]{Func: apply, Types: kernels.FunctionTypes}
	s.Evaluate = kernels.Entry[kernels.EvaluateFunc]{Func: evaluate, Types: kernels.StepTypes}
}
