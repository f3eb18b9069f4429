// Package simulate runs collective operations of many ranks and sizes over simulated
// networks, and holds the simulator's predictions against times of this machine.
package simulate
