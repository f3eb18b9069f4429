package table

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
)

// editNode adds, renames or drops columns: a projectNode once the columns below
// are known. All that it adds and renames is of the columns below: what one
// expression gives another does not see.
type editNode struct {
	in     node
	add    []named
	rename map[string]string
	drop   []string
}

func (n *editNode) resolve(ctx context.Context) (node, error) {
	in, err := n.in.resolve(ctx)
	if err != nil {
		return nil, err
	}
	have := fieldNames(in.schema())
	if err := n.check(in.schema(), have); err != nil {
		return nil, wrapError("select", err)
	}
	gone, added := namesOf(n.drop), map[string]*expr.Expr{}
	for _, a := range n.add {
		if added[a.name] != nil {
			return nil, wrapError("select", fmt.Errorf("%w: column %q is given twice", errMismatch, a.name))
		}
		added[a.name] = a.e
	}
	var items []named
	for _, name := range have {
		e := expr.Col(name)
		if in := added[name]; in != nil {
			e = in
			delete(added, name)
		}
		if to, ok := n.rename[name]; ok {
			items = append(items, named{to, e})
		} else if !gone[name] {
			items = append(items, named{name, e})
		}
	}
	for _, a := range n.add {
		if added[a.name] != nil {
			items = append(items, a)
		}
	}
	out, err := schemaOf(in.schema(), items)
	if err != nil {
		return nil, wrapError("select", err)
	}
	return &projectNode{in: in, items: items, out: out}, nil
}

// check finds names of columns that are not there.
func (n *editNode) check(schema *arrow.Schema, have []string) error {
	for _, name := range n.drop {
		if len(schema.FieldIndices(name)) == 0 {
			return expr.UnknownColumn(name, have)
		}
	}
	for name := range n.rename {
		if len(schema.FieldIndices(name)) == 0 {
			return expr.UnknownColumn(name, have)
		}
	}
	return nil
}

// The rest of node is never asked of an editNode: resolve replaces it.

func (n *editNode) schema() *arrow.Schema                { return nil }
func (n *editNode) inputs() []node                       { return []node{n.in} }
func (n *editNode) text() string                         { return "select" }
func (n *editNode) withInputs([]node) node               { return n }
func (n *editNode) push([]*expr.Expr) node               { return n }
func (n *editNode) prune(names) node                     { return n }
func (n *editNode) compile(*runner) (exec.Source, error) { return n.in.compile(nil) }
