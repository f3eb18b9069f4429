package cpu

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// elementwise puts the elementwise kernels into s.
func (l *loops) elementwise(s *kernels.Set) {
	numbers := kernels.NumberTypes | kernels.DecimalTypes
	duration := kernels.TypesOf(arrow.DURATION)
	s.Cast = kernels.Entry[kernels.CastFunc]{Func: l.cast, Types: kernels.KeyTypes}
	s.Arithmetic = kernels.Entry[kernels.ArithmeticFunc]{Func: l.arithmeticColumns, Types: numbers | kernels.TemporalTypes}
	s.Unary = kernels.Entry[kernels.UnaryFunc]{Func: l.unaryColumn, Types: numbers | duration}
	s.Temporal = kernels.Entry[kernels.TemporalFunc]{Func: temporalField, Types: kernels.TemporalTypes &^ duration}
	s.Compare = kernels.Entry[kernels.CompareFunc]{Func: l.compareColumns, Types: kernels.KeyTypes}
	s.Match = kernels.Entry[kernels.MatchFunc]{Func: l.match, Types: kernels.BinaryTypes}
	s.Substring = kernels.Entry[kernels.SubstringFunc]{Func: substring, Types: kernels.BinaryTypes}
	s.Logic = kernels.Entry[kernels.LogicFunc]{Func: l.logic, Types: kernels.BoolTypes}
	s.Not = kernels.Entry[kernels.NotFunc]{Func: not, Types: kernels.BoolTypes}
	s.IsNull = kernels.Entry[kernels.IsNullFunc]{Func: l.isNullTest, Types: kernels.AllTypes}
	s.FillNull = kernels.Entry[kernels.FillNullFunc]{Func: l.fillNull, Types: kernels.KeyTypes}
	s.IfElse = kernels.Entry[kernels.IfElseFunc]{Func: l.ifElse, Types: kernels.KeyTypes}
	s.Hash = kernels.Entry[kernels.HashFunc]{Func: l.hashColumns, Types: kernels.KeyTypes}
	s.Apply = kernels.Entry[kernels.ApplyFunc]{Func: apply, Types: kernels.FunctionTypes}
	s.Evaluate = kernels.Entry[kernels.EvaluateFunc]{Func: l.evaluate, Types: kernels.StepTypes}
}
