// Package mesh is the asynchronous plane between the members of a gang: a hub and its workers, each a Node, with one connection between
// two of them that is made when the first has something to say to the other.
//
// Over these connections go questions and their answers (Ask), messages with a tag (Send, Recv), and groups: transport endpoints of some of the
// nodes (Group), whose making costs neither a connection nor a message, since every frame carries the number of its group. Long
// payloads stay with their sender until the receiver asks for them, so that nobody fills another's memory.
//
// Every frame carries the run, the generation and a number. A node of another run or generation is refused when it connects, one of an older
// generation with ErrStale. The hub hears of every worker within a lease, or calls it lost and tells the others: what waits for the
// lost one ends with a *Gone that names it, and everything else goes on.
//
// Nodes of one process reach each other without a connection.
package mesh
