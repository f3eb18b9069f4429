// Package mixed is a transport of two: ranks of one machine reach each other through
// shared memory, ranks of different machines over TCP. All are connected over TCP, which
// is how they learn who reaches whose memory, and tell each other whether it could be had:
// where one of a machine's ranks cannot use it, all of them stay with TCP, and Describe
// says why.
//
// Between two ranks everything, notes too, goes one way, so that it stays in order. A
// connection over TCP that breaks between ranks that share memory ends nothing: they meet
// no more in a Split with ranks of other machines, which says that one is absent.
//
// With a secret only ranks that know it meet, and from their meeting, which is encrypted
// then, comes what a segment of shared memory is called and what is written at its begin.
// It is made for its user alone (mode 0600), and a rank takes no segment of another user's.
// What passes through it is not encrypted: who may read it is that user, and the system's
// administrator, who read the processes' memory anyway. Without a secret the same holds of
// strangers on the machine; who comes to the meeting is a rank.
package mixed
