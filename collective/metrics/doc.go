// Package metrics publishes the counts of this process's collective operations: to
// Prometheus by a Collector, and at /debug/vars by Publish.
//
// Counts are of all Comms that the process has or had, by transport:
//
//	volley_collective_operations_total{transport,operation,algorithm}
//	volley_collective_operation_failures_total{transport,operation,algorithm}
//	volley_collective_operation_seconds_total{transport,operation,algorithm}
//	volley_collective_messages_total{transport,direction="sent"|"received"}
//	volley_collective_bytes_total{transport,direction}
//	volley_collective_faults_total{transport,cause}
//	volley_collective_stalls_total{transport}
package metrics
