// Package tcp is the transport between machines: ranks that are processes, joined
// pair by pair by a few connections. One connection of a pair carries notes, so that
// heartbeats and faults pass whatever the data does; messages travel on the others,
// long ones in segments striped over them.
//
// Everything travels in frames (frame.go): a header of 80 bytes with magic, version,
// length, number on the connection and checksum, then at most one segment of a
// message, whose checksum the header has too. A frame that is repeated, lost, cut or
// changed ends in an error on both sides; nothing is allocated by a length that came
// over the wire, and nothing is written to the caller's memory before the header was
// found to be the expected one.
//
// A message goes out on the goroutine that posts it for as long as the socket takes
// it; what is left is written by the same one while it waits for other messages, or by a
// goroutine where it waits for long. It is read on the goroutine that
// receives it, straight into its place. Who waits for a message looks at the socket a
// while before it sleeps, giving way to others between looks: that is what a short
// message's time depends on. Where a machine has more ranks than processors it sleeps at
// once, since the sender may need its processor. The limit for long messages is what a
// plain socket carries.
//
// Ranks say on which machine they are when they meet, so that all know that of all
// (transport.Machines): by the host's name and boot, or as they are told.
//
// A rank that leaves says goodbye among its notes, ends that direction, and waits a
// moment until all others have ended theirs: a socket that is closed before answers what
// still comes with a reset, which would look like the rank's death. A note that cannot be
// written, or data that ends, is no verdict: what is read among the notes has the last
// word, and only if that stays silent for a moment is the rank lost.
//
// With a secret all connections, those of the meeting too, are TLS 1.3 with both
// sides authenticated by it (package secret). Without one, everyone who reaches a
// rank's port while the ranks meet could pose as a rank: keep that to trusted
// networks.
package tcp
