package expr

import "github.com/volley-go/volley/kernels"

// Op is an operation of a KindCall.
type Op int

// The operations. Those of one group follow the order of the kernels' own
// constants. In text each has the operator or function name that String gives.
const (
	OpAdd Op = iota
	OpSub
	OpMul
	OpDiv
	OpMod
	OpAddChecked // overflow is an error that names the row
	OpSubChecked
	OpMulChecked
	OpDivChecked
	OpModChecked

	OpEq
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe

	OpAnd
	OpOr
	OpXor
	OpAndNot
	OpNot

	OpIsNull
	OpIsNotNull
	OpIsNaN

	OpNeg
	OpAbs
	OpSign
	OpSqrt
	OpExp
	OpLn
	OpFloor
	OpCeil
	OpTrunc
	OpRound

	OpYear
	OpMonth
	OpDay
	OpHour
	OpMinute
	OpSecond
	OpDayOfWeek
	OpDayOfYear

	OpCoalesce // the first operand that is not null
	OpIfElse   // cond, a, b: null where cond is null
	OpCase     // cond, value, cond, value, …, else: a null cond is false
	OpContains // text, literal: both as bytes
	OpStartsWith
	OpEndsWith
	OpLike      // text, pattern, escape: literals; without an escape every % and _ is a wildcard
	OpSubstring // text, from, length: letters from 1 on; without a length up to the end
	OpIn        // value, literal, literal, …: never null
	OpAmong     // the same as SQL's in: null where the value is null, or where none equals it and null is among them
	OpApply     // the user's function Name of Args: null where one of them is
	opCount
)

// shape tells how an operation is written.
type shape int

const (
	asFunction shape = iota
	asInfix
	asPrefix
	asPostfix
	asSpecial
)

// opInfo is what the parser, the printer and Bind know of an operation.
type opInfo struct {
	name     string // operator or function name
	shape    shape
	level    int // binding strength of infix, prefix and postfix operators
	min, max int // number of operands; max -1: any number
}

// Binding strengths, the weakest first.
const (
	levelOr = iota + 1
	levelXor
	levelAnd
	levelNot
	levelCompare
	levelSum
	levelProduct
	levelSign
	levelAtom
)

var ops = [opCount]opInfo{
	OpAdd: {"+", asInfix, levelSum, 2, 2}, OpSub: {"-", asInfix, levelSum, 2, 2},
	OpMul: {"*", asInfix, levelProduct, 2, 2}, OpDiv: {"/", asInfix, levelProduct, 2, 2},
	OpMod:        {"%", asInfix, levelProduct, 2, 2},
	OpAddChecked: {"add_checked", asFunction, levelAtom, 2, 2}, OpSubChecked: {"subtract_checked", asFunction, levelAtom, 2, 2},
	OpMulChecked: {"multiply_checked", asFunction, levelAtom, 2, 2}, OpDivChecked: {"divide_checked", asFunction, levelAtom, 2, 2},
	OpModChecked: {"modulo_checked", asFunction, levelAtom, 2, 2},

	OpEq: {"=", asInfix, levelCompare, 2, 2}, OpNe: {"<>", asInfix, levelCompare, 2, 2},
	OpLt: {"<", asInfix, levelCompare, 2, 2}, OpLe: {"<=", asInfix, levelCompare, 2, 2},
	OpGt: {">", asInfix, levelCompare, 2, 2}, OpGe: {">=", asInfix, levelCompare, 2, 2},

	OpAnd: {"and", asInfix, levelAnd, 2, 2}, OpOr: {"or", asInfix, levelOr, 2, 2},
	OpXor: {"xor", asInfix, levelXor, 2, 2}, OpAndNot: {"and_not", asFunction, levelAtom, 2, 2},
	OpNot: {"not", asPrefix, levelNot, 1, 1},

	OpIsNull: {"is null", asPostfix, levelCompare, 1, 1}, OpIsNotNull: {"is not null", asPostfix, levelCompare, 1, 1},
	OpIsNaN: {"is_nan", asFunction, levelAtom, 1, 1},

	OpNeg: {"-", asPrefix, levelSign, 1, 1},
	OpAbs: {"abs", asFunction, levelAtom, 1, 1}, OpSign: {"sign", asFunction, levelAtom, 1, 1},
	OpSqrt: {"sqrt", asFunction, levelAtom, 1, 1}, OpExp: {"exp", asFunction, levelAtom, 1, 1},
	OpLn: {"ln", asFunction, levelAtom, 1, 1}, OpFloor: {"floor", asFunction, levelAtom, 1, 1},
	OpCeil: {"ceil", asFunction, levelAtom, 1, 1}, OpTrunc: {"trunc", asFunction, levelAtom, 1, 1},
	OpRound: {"round", asFunction, levelAtom, 1, 1},

	OpYear: {"year", asFunction, levelAtom, 1, 1}, OpMonth: {"month", asFunction, levelAtom, 1, 1},
	OpDay: {"day", asFunction, levelAtom, 1, 1}, OpHour: {"hour", asFunction, levelAtom, 1, 1},
	OpMinute: {"minute", asFunction, levelAtom, 1, 1}, OpSecond: {"second", asFunction, levelAtom, 1, 1},
	OpDayOfWeek: {"day_of_week", asFunction, levelAtom, 1, 1}, OpDayOfYear: {"day_of_year", asFunction, levelAtom, 1, 1},

	OpContains: {"contains", asFunction, levelAtom, 2, 2}, OpStartsWith: {"starts_with", asFunction, levelAtom, 2, 2},
	OpEndsWith: {"ends_with", asFunction, levelAtom, 2, 2},
	OpLike:     {"like", asSpecial, levelCompare, 2, 3}, OpSubstring: {"substring", asFunction, levelAtom, 2, 3},

	OpCoalesce: {"coalesce", asFunction, levelAtom, 1, -1}, OpIfElse: {"if_else", asFunction, levelAtom, 3, 3},
	OpCase: {"case", asSpecial, levelAtom, 3, -1}, OpIn: {"is_in", asFunction, levelAtom, 2, -1},
	OpAmong: {"in", asSpecial, levelCompare, 2, -1}, OpApply: {"apply", asSpecial, levelAtom, 1, -1},
}

// String is the operator or function name in text.
func (o Op) String() string {
	if o < 0 || o >= opCount {
		return "invalid"
	}
	return ops[o].name
}

func (o Op) isArithmetic() bool { return o >= OpAdd && o <= OpModChecked }
func (o Op) isCompare() bool    { return o >= OpEq && o <= OpGe }
func (o Op) isLogic() bool      { return o >= OpAnd && o <= OpAndNot }
func (o Op) isUnary() bool      { return o >= OpNeg && o <= OpRound }
func (o Op) isMatch() bool      { return o >= OpContains && o <= OpLike }
func (o Op) isIn() bool         { return o == OpIn || o == OpAmong }
func (o Op) isTemporal() bool   { return o >= OpYear && o <= OpDayOfYear }

// arithmetic is the kernel's operation, and whether it is checked.
func (o Op) arithmetic() (kernels.ArithmeticOp, kernels.ArithmeticOptions) {
	if o >= OpAddChecked {
		return kernels.ArithmeticOp(o - OpAddChecked), kernels.ArithmeticOptions{Checked: true}
	}
	return kernels.ArithmeticOp(o - OpAdd), kernels.ArithmeticOptions{}
}
