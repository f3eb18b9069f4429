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

// Takes reports whether a step may be one of a Program, given the types of its
// operands: Evaluate of every backend that has it computes such steps.
func (s Step) Takes(args ...arrow.DataType) bool {
	for _, t := range append(args, s.Type) {
		if !ProgramTypes.Has(t.ID()) {
			return false
		}
	}
	switch s.Kind {
	case StepArithmetic:
		return s.plainArithmetic(args)
	case StepUnary:
		return NumberTypes.Has(args[0].ID())
	case StepCast:
		return NumberTypes.Has(args[0].ID()) && NumberTypes.Has(s.Type.ID())
	case StepTemporal:
		return false
	default:
		return true
	}
}

// plainArithmetic reports whether temporal arithmetic is that of the integers
// below: of one width, with nothing to convert.
func (s Step) plainArithmetic(args []arrow.DataType) bool {
	for _, t := range append(args, s.Type) {
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
