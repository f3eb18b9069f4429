package metrics

import (
	"expvar"
	"fmt"

	"github.com/volley-go/volley/collective"
)

// Publish makes the process's counts a variable of package expvar: the Stats by
// transport, as JSON. A name that is taken already is an error.
func Publish(name string) error {
	if expvar.Get(name) != nil {
		return fmt.Errorf("metrics: there is a variable %q already", name)
	}
	expvar.Publish(name, expvar.Func(func() any { return collective.Totals() }))
	return nil
}
