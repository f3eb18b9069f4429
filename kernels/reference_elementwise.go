package kernels

import "github.com/apache/arrow-go/v18/arrow"

// referenceElementwise puts the reference loops of elementwise kernels into s.
func referenceElementwise(s *Set) {
	numbers := NumberTypes | DecimalTypes
	duration := TypesOf(arrow.DURATION)
	s.Cast = Entry[CastFunc]{referenceCast, KeyTypes}
	s.Arithmetic = Entry[ArithmeticFunc]{referenceArithmetic, numbers | TemporalTypes}
	s.Unary = Entry[UnaryFunc]{referenceUnary, numbers | duration}
	s.Temporal = Entry[TemporalFunc]{referenceTemporal, TemporalTypes &^ duration}
	s.Compare = Entry[CompareFunc]{referenceCompare, KeyTypes}
	s.Logic = Entry[LogicFunc]{referenceLogic, BoolTypes}
	s.Not = Entry[NotFunc]{referenceNot, BoolTypes}
	s.Match = referenceMatch
	s.IsNull = Entry[IsNullFunc]{referenceIsNull, AllTypes}
	s.FillNull = Entry[FillNullFunc]{referenceFillNull, KeyTypes}
	s.IfElse = Entry[IfElseFunc]{referenceIfElse, KeyTypes}
	s.Hash = Entry[HashFunc]{referenceHash, KeyTypes}
	s.Apply = Entry[ApplyFunc]{referenceApply, FunctionTypes}
	s.Evaluate = Entry[EvaluateFunc]{referenceEvaluate, ProgramTypes}
}
