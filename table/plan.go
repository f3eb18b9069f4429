package table

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
)

// node is one operator of a plan. A chain makes nodes; resolve gives copies
// with schemas, which the optimiser rebuilds and compile turns into pipelines.
type node interface {
	// resolve checks the node and those below it and finds their schemas.
	resolve(ctx context.Context) (node, error)
	// schema is the columns of the result, once resolved.
	schema() *arrow.Schema
	// inputs are the nodes below.
	inputs() []node
	// withInputs is the resolved node with others below it, of the same schemas.
	withInputs(in []node) node
	// text is the node's line in Explain.
	text() string
	// push moves conditions that rows must meet below the node, or keeps them
	// above it.
	push(conds []*expr.Expr) node
	// prune leaves out columns that nobody above needs. The result has at least
	// those that are needed.
	prune(need names) node
	// compile makes the source of its rows: a pipeline of steps, or what is made of
	// all rows of one.
	compile(r *runner) (exec.Source, error)
}

// named is an expression and the name of its result.
type named struct {
	name string
	e    *expr.Expr
}

func (n named) text() string {
	if nameOf(n.e) == n.name && n.e.Kind() == expr.KindColumn {
		return n.e.String()
	}
	if n.e.Kind() == expr.KindAlias {
		return n.e.Args()[0].As(n.name).String()
	}
	return n.e.As(n.name).String()
}

func listText[T interface{ text() string }](all []T) string {
	parts := make([]string, len(all))
	for i, a := range all {
		parts[i] = a.text()
	}
	return strings.Join(parts, ", ")
}

// names is a set of column names.
type names map[string]bool

func namesOf(lists ...[]string) names {
	set := names{}
	for _, l := range lists {
		for _, n := range l {
			set[n] = true
		}
	}
	return set
}

func fieldNames(s *arrow.Schema) []string {
	list := make([]string, s.NumFields())
	for i := range list {
		list[i] = s.Field(i).Name
	}
	return list
}

// among are the names of the schema that the set has, in the schema's order.
func (set names) among(s *arrow.Schema) []string {
	list := []string{}
	for _, f := range s.Fields() {
		if set[f.Name] {
			list = append(list, f.Name)
		}
	}
	return list
}

// subset is the schema's fields of these names, in the order of the names.
func subset(s *arrow.Schema, list []string) *arrow.Schema {
	fields := make([]arrow.Field, len(list))
	for i, n := range list {
		fields[i] = s.Field(s.FieldIndices(n)[0])
	}
	return arrow.NewSchema(fields, nil)
}

// schemaOf is the schema of named expressions over in.
func schemaOf(in *arrow.Schema, items []named) (*arrow.Schema, error) {
	fields := make([]arrow.Field, len(items))
	for i, it := range items {
		if it.e.Kind() == expr.KindColumn { // of a thousand most are, and need no binding
			if at := in.FieldIndices(it.e.Name()); len(at) == 1 {
				f := in.Field(at[0])
				fields[i] = arrow.Field{Name: it.name, Type: f.Type, Nullable: true, Metadata: f.Metadata}
				continue
			}
		}
		b, err := it.e.Bind(in)
		if err != nil {
			return nil, err
		}
		fields[i] = arrow.Field{Name: it.name, Type: b.TypeOf(0), Nullable: true}
		if c, ok := b.ColumnOf(0); ok {
			fields[i].Metadata = in.Field(c).Metadata
		}
	}
	out := arrow.NewSchema(fields, nil)
	return out, uniqueNames(out)
}

// resolved is the resolved and optimised plan of a query, with the values of its
// scalars, which valueOf finds by the same optimiser.
func (q *Query) resolved(ctx context.Context, valueOf func(*optimiser, *scalarNode) (kernels.Scalar, error)) (n node, o *optimiser, err error) {
	if q.err != nil {
		return nil, nil, q.err
	}
	defer exec.Guard(q.place(), &err)
	if n, err = q.plan.resolve(ctx); err != nil {
		return nil, nil, err
	}
	if o, err = newOptimiser(); err != nil {
		return nil, nil, err
	}
	n, err = o.plan(n, func(s *scalarNode) (kernels.Scalar, error) { return valueOf(o, s) })
	return n, o, err
}

// place is the device's name, for what a source panics with.
func (q *Query) place() string {
	if q.backend == nil {
		return "query"
	}
	return q.backend.Device.Name()
}

// exprsOf are the expressions of named items.
func exprsOf(items []named) []*expr.Expr {
	all := make([]*expr.Expr, len(items))
	for i, it := range items {
		all[i] = it.e
	}
	return all
}

// lacking puts what a device has not got in the words of a query: what is done with columns, which have names.
func lacking(err error, doing string, columns []string) error {
	return kernels.Lacking(err, func(l *kernels.LackError) string {
		if len(l.Types) == 0 || l.Column >= len(columns) {
			return doing
		}
		return fmt.Sprintf("column %q: %s of %s", columns[l.Column], doing, expr.TypeName(l.Types[0]))
	})
}

// wrapError says which operator failed.
func wrapError(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
