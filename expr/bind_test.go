package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
)

var flights = arrow.NewSchema([]arrow.Field{
	{Name: "delay", Type: arrow.PrimitiveTypes.Int16, Nullable: true},
	{Name: "distance", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "speed", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
	{Name: "origin", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
	{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Millisecond}, Nullable: true},
	{Name: "late", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "fare", Type: &arrow.Decimal128Type{Precision: 8, Scale: 2}, Nullable: true},
	{Name: "seats", Type: arrow.PrimitiveTypes.Uint8, Nullable: true},
}, nil)

func TestTypes(t *testing.T) {
	for text, want := range map[string]string{
		"delay + 1":                           "int16",
		"delay + 100000":                      "int64",
		"delay + distance":                    "int32",
		"delay + seats":                       "int16",
		"distance + speed":                    "float64",
		"delay + speed":                       "float32",
		"delay / 2.0":                         "float64",
		"distance / 2.0":                      "float64",
		"delay > 15":                          "bool",
		"sqrt(delay)":                         "float64",
		"hour(at) + 1":                        "int64",
		"at - at":                             "duration[ms]",
		"coalesce(delay, 0)":                  "int16",
		"coalesce(delay, 0.5)":                "float64",
		"case when late then 1 else null end": "int64",
		"if_else(late, origin, 'x')":          "utf8",
		"cast(delay as float64)":              "float64",
		"fare + 1":                            "decimal(9, 2)",
		"day < '2024-01-01' and at >= '2024-01-01 10:00:00.5'": "bool",
		"day < at":                       "bool",
		"origin in ('JFK', 'LAX', null)": "bool",
		"contains(origin, 'JF')":         "bool",
		"null":                           "null",
		"late and null":                  "bool",
	} {
		if got := TypeName(mustBind(t, text, flights).Type()); got != want {
			t.Errorf("%s is of type %s, want %s", text, got, want)
		}
	}
}

func TestBindErrors(t *testing.T) {
	for text, want := range map[string][]string{
		"dely > 15":                 {"line 1, column 1", `unknown column "dely"`, "did you mean delay?"},
		"zzz > 15":                  {`unknown column "zzz"; there are delay, distance`},
		"delay > 'late'":            {"line 1, column 7", `column "delay" of type int16`, "'late' of type utf8"},
		"origin + 1":                {"line 1, column 8", `column "origin" of type utf8`},
		"delay and late":            {`and of column "delay" of type int16 and column "late" of type bool`, "and takes bool"},
		"hour(delay)":               {"line 1, column 1", `hour of column "delay" of type int16`},
		"year('2024')":              {"utf8"},
		"contains(delay, '1')":      {`contains of column "delay" of type int16`},
		"ends_with(origin, origin)": {"ends_with looks for a text literal"},
		"abs(origin)":               {`abs of column "origin" of type utf8`},
		"delay in (distance)":       {"the list of 'in' must be literals"},
		"origin in (1)":             {`column "origin" of type utf8`},
		"day = '2024-02-30'":        {`column "day" of type date32`},
		"if_else(delay, 1, 2)":      {"a condition is of type int16, not bool"},
		"cast(late as date32)":      {`cast of column "late" of type bool to date32`},
		"coalesce(origin, day)":     {`column "origin" of type utf8 and column "day" of type date32`},
	} {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Bind(flights)
		if !errors.Is(err, device.ErrMismatch) {
			t.Errorf("%s: %v is no ErrMismatch", text, err)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", text, err, part)
			}
		}
	}
	for _, e := range []*Expr{nil, Lit(struct{}{}), Col("delay").Add(nil).Add(make(chan int)), Col("delay").In()} {
		if _, err := e.Bind(flights); !errors.Is(err, device.ErrMismatch) {
			t.Errorf("%v: bound, %v", e, err)
		}
	}
}

// TestStepsAreShared: what occurs twice is one step, and constants are folded.
func TestStepsAreShared(t *testing.T) {
	for text, want := range map[string]int{
		"delay * 2 + delay * 2":              4, // delay, 2, the product, the sum
		"distance > 2 + 3 * 4":               3, // distance, 14, the comparison
		"true and late":                      1,
		"late and not true":                  1,
		"delay > 15 and 1 < 2":               3,
		"delay > 40000":                      3, // never true: delay < -32768
		"delay > 15.5":                       3, // delay > 15
		"cast('2024-01-01' as date32) = day": 3,
	} {
		if got := len(mustBind(t, text, flights).nodes); got != want {
			t.Errorf("%s has %d steps, want %d", text, got, want)
		}
	}
}

func TestConjunctsAndComparison(t *testing.T) {
	e, err := Parse("delay > 15 and 500 <= distance and (late or day is null)")
	if err != nil {
		t.Fatal(err)
	}
	parts := Conjuncts(e)
	if len(parts) != 3 || !Equal(AllOf(parts...), e) {
		t.Fatalf("parts %v", parts)
	}
	column, op, value, ok := parts[1].Comparison()
	if !ok || column != "distance" || op.String() != ">=" || value.Int64() != 500 {
		t.Errorf("500 <= distance is %s %s %s, %t", column, op, value, ok)
	}
	if _, _, _, ok := parts[2].Comparison(); ok {
		t.Error("an or is no comparison")
	}
	if got := strings.Join(Columns(e), " "); got != "delay distance late day" {
		t.Errorf("columns %s", got)
	}
	moved := Rewrite(e, func(name string) *Expr {
		if name == "late" {
			return Col("x").Gt(1)
		}
		return nil
	})
	if want := "delay > 15 and 500 <= distance and (x > 1 or day is null)"; moved.String() != want {
		t.Errorf("rewritten to %s", moved)
	}
}
