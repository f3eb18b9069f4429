// Package tpch has the 22 queries of TPC-H as programs write them with the public
// interface, a file each, and runs them: alone, or in turns with other engines
// on the same files and threads ([Run]).
package tpch
