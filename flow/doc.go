// Package flow is the engine that runs queries. Batches of rows come from
// sources and are carried, a morsel at a time, through the operators of
// pipelines: see package exec, which runs them, and docs/engine.md. Package table
// makes the plans.
package flow
