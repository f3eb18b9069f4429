package kernels

import "github.com/apache/arrow-go/v18/arrow"

// StepKind is what a step of a Program does.
type StepKind int

// The kinds of step. Those that compute are the kernels of the same name: Op is
// the operation where a kernel has several.
const (
	StepColumn     StepKind = iota // column Column of those given
	StepScalar                     // Value
	StepArithmetic                 // ArithmeticOp of two values; Checked
	StepUnary                      // UnaryOp; Checked
	StepTemporal                   // TemporalField
	StepCompare                    // CompareOp of two values
	StepLogic                      // LogicOp of two values
	StepNot
	StepIsNull   // NullTest
	StepFillNull // of the first value with the second
	StepIfElse   // condition, a, b
	StepCast     // to Type; Wrap
	StepApply    // Function of its arguments
)

// Step is one step of a Program.
type Step struct {
	Kind     StepKind
	Op       int
	Args     []int          // earlier steps
	Type     arrow.DataType // of the result
	Column   int
	Value    Scalar
	Function *Function
	Checked  bool
	Wrap     bool
}

// Program is a list of elementwise steps over columns of one length, each after
// its operands, of which some are the results.
type Program struct {
	Steps   []Step
	Results []int
}

// ProgramTypes are the types that the steps of a Program compute with: values
// of up to 64 bits in which nothing has to be looked up.
var ProgramTypes = NumberTypes | BoolTypes | TemporalTypes

// StepTypes are the types that steps may have. A backend takes those of its entry of
// Evaluate, ProgramTypes at least: decimals are for backends of the host, which
// compute blocks of short ones as integers.
var StepTypes = ProgramTypes | DecimalTypes

// Takes reports whether a step may be one of a Program, given the types of its
// operands: Evaluate of every backend that has it, and takes the types, computes
// such steps.
func (s Step) Takes(args ...arrow.DataType) bool {
	decimal := false
	for _, t := range s.types(args) {
		if !StepTypes.Has(t.ID()) {
			return false
		}
		decimal = decimal || t.ID() == arrow.DECIMAL128
	}
	switch s.Kind {
	case StepArithmetic:
		if decimal {
			return s.decimalArithmetic(args)
		}
		return s.plainArithmetic(args)
	case StepUnary:
		return NumberTypes.Has(args[0].ID())
	case StepCast:
		if decimal {
			return s.decimalCast(args[0])
		}
		return NumberTypes.Has(args[0].ID()) && NumberTypes.Has(s.Type.ID())
	case StepTemporal:
		return false
	case StepApply:
		return !decimal
	default:
		return s.oneScale(args)
	}
}

// types are those of the operands and of the result.
func (s Step) types(args []arrow.DataType) []arrow.DataType {
	return append(args[:len(args):len(args)], s.Type)
}

// stepDigits are the most digits that a step gives decimals or takes from them.
const stepDigits = 18

// decimalArithmetic reports whether decimals only have to be brought to one scale first.
func (s Step) decimalArithmetic(args []arrow.DataType) bool {
	if ArithmeticOp(s.Op) > Multiply {
		return false
	}
	to, ok := s.Type.(*arrow.Decimal128Type)
	for _, t := range args {
		d, decimal := t.(*arrow.Decimal128Type)
		if !ok || !decimal || ArithmeticOp(s.Op) != Multiply && (to.Scale < d.Scale || to.Scale-d.Scale > stepDigits) {
			return false
		}
	}
	return true
}

// decimalCast reports whether a cast to or from decimals loses nothing.
func (s Step) decimalCast(from arrow.DataType) bool {
	x, decimal := from.(*arrow.Decimal128Type)
	to, into := s.Type.(*arrow.Decimal128Type)
	switch {
	case decimal && into:
		return to.Scale >= x.Scale && to.Scale-x.Scale <= stepDigits
	case decimal:
		return s.Type.ID() == arrow.FLOAT64 && x.Scale >= 0 && x.Scale <= 22 // float64 holds 10^22
	default:
		return IntegerTypes.Has(from.ID()) && from.ID() != arrow.UINT64 && to.Scale >= 0 && to.Scale <= stepDigits
	}
}

// oneScale reports whether all decimals of a step have the same scale.
func (s Step) oneScale(args []arrow.DataType) bool {
	var first *arrow.Decimal128Type
	for _, t := range s.types(args) {
		if d, ok := t.(*arrow.Decimal128Type); ok {
			if first != nil && d.Scale != first.Scale {
				return false
			}
			first = d
		}
	}
	return true
}

// plainArithmetic reports whether temporal arithmetic is that of the integers
// below: of one width, with nothing to convert.
func (s Step) plainArithmetic(args []arrow.DataType) bool {
	for _, t := range s.types(args) {
		if id := t.ID(); !NumberTypes.Has(id) && id != arrow.TIMESTAMP && id != arrow.DURATION {
			return false
		}
	}
	return NumberTypes.Has(s.Type.ID()) || ArithmeticOp(s.Op) == Add || ArithmeticOp(s.Op) == Subtract
}

// operands is how many operands the step has.
func (s Step) operands() int {
	switch s.Kind {
	case StepColumn, StepScalar:
		return 0
	case StepArithmetic, StepCompare, StepLogic, StepFillNull:
		return 2
	case StepIfElse:
		return 3
	case StepApply:
		if s.Function == nil {
			return -1
		}
		return len(s.Function.Args())
	default:
		return 1
	}
}

// typesOf are the types of the operands of step i, as many as stand before it.
func (s Step) typesOf(p *Program, i int) []arrow.DataType {
	var types []arrow.DataType
	for _, a := range s.Args {
		if a < 0 || a >= i {
			break
		}
		types = append(types, p.Steps[a].Type)
	}
	return types
}
