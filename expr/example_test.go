package expr_test

import (
	"fmt"
	"log"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
)

// Text and builder give the same tree. Types come with Bind, and an error says
// which column and where.
func ExampleParse() {
	parsed, err := expr.Parse("delay > 15 and distance >= 500")
	if err != nil {
		log.Fatal(err)
	}
	built := expr.Col("delay").Gt(15).And(expr.Col("distance").Ge(500))
	fmt.Println(parsed, expr.Equal(parsed, built))

	schema := arrow.NewSchema([]arrow.Field{
		{Name: "delay", Type: arrow.PrimitiveTypes.Int16},
		{Name: "distance", Type: arrow.BinaryTypes.String},
	}, nil)
	_, err = parsed.Bind(schema)
	fmt.Println(err)
	_, err = expr.Parse("delay >")
	fmt.Println(err)
	// Output:
	// delay > 15 and distance >= 500 true
	// mismatch: type error at line 1, column 25: >= of column "distance" of type utf8 and 500 of type int64
	// mismatch: syntax error at line 1, column 8: expected an operand, found the end
}
