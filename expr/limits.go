package expr

import "fmt"

// Limits that keep a text from taking the stack, the memory or the day.
const (
	maxText   = 16 << 20 // bytes
	maxTokens = 100_000
	maxDepth  = 500 // of what the parser nests: parentheses, operands, signs
)

// Limits of a tree, from text or from the builder. Chains of operators grow to
// one side and so deeper than maxDepth. An operand that stands in two places,
// as Between puts it, is walked twice: without a bound a chain of them would
// double with each.
const (
	maxTreeDepth = 100_000
	maxTreeSize  = 1 << 20 // calls, casts and aliases
)

// sized notes how deep and how large the tree is, and the error of one past
// the limits.
func (e *Expr) sized() *Expr {
	e.depth, e.size = 1, 1
	for _, a := range e.args {
		if a != nil {
			e.depth = max(e.depth, a.depth+1)
			e.size = min(e.size+a.size, maxTreeSize+1)
		}
	}
	switch {
	case e.err != nil:
	case e.depth > maxTreeDepth:
		e.err = fmt.Errorf("%w: an expression nested deeper than %d", errSyntax, maxTreeDepth)
	case e.size > maxTreeSize:
		e.err = fmt.Errorf("%w: an expression of more than %d operations", errSyntax, maxTreeSize)
	}
	return e
}
