// Package profile is what is known of a query's run: the plan, the steps and pipelines that it
// is cut into, and what each worker measured at each step. A Profile is shown as text, JSON, a
// page of HTML that loads nothing, and a trace for chrome://tracing or Perfetto.
//
// While a query runs every goroutine has a Track. It is always at one step, busy or waiting:
// the times of all steps of a worker therefore add up to the time that the worker was there.
package profile
