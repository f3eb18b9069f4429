package shm

import (
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/volley-go/volley/collective/transport"
)

// The segment: a head, a block for each rank, and Size*Size lanes. Everything in it
// is zero at first and of fixed layout, and is only written through atomics or
// before an atomic store that publishes it.
const (
	magic   = 0x766f6c6c6579000d // "volley", layout 13
	depth   = 32                 // slots of a lane that are used, a power of two
	deepest = 256                // slots that there are, for ranks that share processors
	told    = 8                  // messages in slots that the reader takes before it says so
	inline  = 1024               // bytes of payload that a slot holds
	// Where ranks share processors, longer messages always pass through the ring: to wait for the
	// reader would be to give the processor away. Else see route_linux.go.
	ringAlways  = 8 << 10 // bytes of the longest message that needs no choice
	crowdMedium = 64 << 10
	longest     = 256 << 10
	room        = 2304 << 10 // bytes of a lane's ring: eight messages, at the least, and what is left out at its end
	piece       = 8 << 10    // bytes of a message in the ring that are shown at a time
	chunk       = 128 << 10  // bytes of a chunk of a long message that cannot be read in place
	chunks      = 4          // of a lane
	noteLen     = 8192       // bytes of the longest note
	noteMax     = 8          // notes of a lane
)

type head struct {
	magic  atomic.Uint64 // set last by the rank that makes the segment
	token  [40]byte
	size   int64
	joined atomic.Int64
	_      [64]byte
}

// rankBlock is what a rank shows of itself.
type rankBlock struct {
	pid    atomic.Int64
	born   atomic.Uint64 // when the process started, from /proc
	left   atomic.Uint32
	noread atomic.Uint32 // it may not read others' memory
	fenced atomic.Uint32 // its words must be stored with a fence: see set
	probe  atomic.Uint64 // the address of tried in the rank's memory, to try whether it can be read and written
	on     atomic.Uint32 // 1 + the processor that it was on when it waited last
	tried  atomic.Uint32 // what others write there
	shared atomic.Uint32 // it may write others' memory, and can tell whether their threads are in the system
	merges atomic.Uint32 // it may, and can, also where ranks have no processors of their own
	rings  atomic.Uint32 // bits of the classes of lengths that exchanges take through the ring; rank 0's count
	_      [4]byte
	failed atomic.Uint64 // the latest split that it could not join: see splitMark
	_      [56]byte
}

// The states of a chunk or a note.
const (
	empty uint32 = iota
	full
)

// How a message's payload travels.
const (
	inSlot uint16 = iota
	inPlace
	inChunks
	inRing
)

// Who has a payload that is read in place: the reader, who claims it before it reads
// and has taken it when it has read all, or the writer, who takes it back when the call
// that posted it must end. A reader that is not done by then has read nothing.
const (
	offered uint32 = iota
	claimed
	taken
	revoked
)

// slot is a message. The header and a few bytes of payload share its first cache
// line, so that a short message is one line that changes hands.
type slot struct {
	flag   atomic.Uint32 // 1 + the number of the message that is here; set last
	claim  atomic.Uint32 // of a message in the ring: the bytes that are there
	header transport.Header
	manner uint16
	apart  bool // it is of an exchange, and so tells nothing about other messages
	_      [5]byte
	data   [inline]byte // the payload, or its address in the sender's memory or in the ring and begun
	_      [8]byte
}

func (s *slot) address() *uint64 { return (*uint64)(unsafe.Pointer(&s.data[0])) }

// wrote is of a message in the ring: the nanoseconds that its writer took for an earlier one of its class.
func (s *slot) wrote() *uint64 { return (*uint64)(unsafe.Pointer(&s.data[8])) }

// begun is of a message in place: how many parts have been begun from its front, in the lower
// half, and from its end, in the upper one.
func (s *slot) begun() *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&s.data[8])) }

type note struct {
	state atomic.Uint32
	len   uint32
	text  [noteLen]byte
}

// lane is one direction between two ranks: one writer, one reader. It has more room
// than a group uses where messages can be read in place; that room is never touched.
type lane struct {
	sleepers atomic.Int32 // ranks that sleep on a word of this lane
	_        [60]byte
	done     atomic.Uint32 // messages that the reader has taken
	_        [60]byte
	helped   atomic.Uint32 // parts of messages in place that the writer has laid into the chunks
	_        [60]byte
	taken    atomic.Uint32 // those that the reader has taken from there
	alone    atomic.Uint32 // not 0: the reader had rather read all of a message itself
	ringed   atomic.Uint32 // bits of the classes of lengths that it had rather have through the ring
	staged   atomic.Uint32 // of a rank's lane to itself: rounds of merged vectors that it has shown
	_        [48]byte
	door     door
	slots    [deepest]slot
	notes    [noteMax]note
	fill     [chunks]chunkState
	data     [chunks][chunk]byte
	ring     [room]byte
}

// The lengths that a door has: 1, 2, 4 and 8 parts, and the rest at a message's end.
const (
	wholes  = 4
	reaches = wholes + 1
)

// door is where the reader lets the writer write into its memory: see push_linux.go.
type door struct {
	message atomic.Uint32 // 1 + the number of the message that goes there; the reader's, as are the next three
	into    atomic.Uint64 // the address of its first byte
	length  atomic.Int64  // its bytes
	print   atomic.Uint64 // of its header, by fingerprint
	_       [32]byte
	reaches [reaches]reach // as process_vm_writev is told them
	_       [48]byte
	busy    atomic.Uint32 // the thread of the writer that is about to call or is in the call, 0 for none; the writer's, as is the rest
	pushed  atomic.Uint32 // parts that were written, or that the writer has given up
	failed  atomic.Uint32 // of those the last ones, which it could not write; the reader sets it back
	_       [52]byte
}

// reach is a struct iovec.
type reach struct {
	base atomic.Uint64 // the writer's
	len  atomic.Uint64 // the reader's: 0 where nothing may be written
}

type chunkState struct {
	state atomic.Uint32
	len   uint32
	_     [56]byte
}

// Where ranks share processors, the lanes of few ranks may have more in them: slots of all
// lanes of a rank, and bytes of the rings of all ranks with one message in each; and bytes of a ring that are under way.
const (
	crowdSlots = 1024
	crowdRings = 4 << 20
	crowdUnder = 512 << 10
)

// depthFor is how many slots of a lane n ranks use. A rank that only sends gives its
// processor away when a lane is full, and every message bears its part of that.
func depthFor(n int, crowded bool) uint32 {
	d := depth
	for crowded && d < deepest && 2*d*n <= crowdSlots {
		d *= 2
	}
	return uint32(d)
}

// cycleFor is how far positions in the ring go between n ranks before they begin anew. Where
// they begin anew with every message the writer takes each line back from its reader's cache, of which Zen 4 makes 10 ns;
// two caches further on they have come to a cache that both share, and it is 2. Ranks of one processor
// share the nearest caches too, and always begin anew.
func cycleFor(n int) int { return min(room, crowdRings/(n*n)) }

// underFor is how many bytes of a lane's ring have messages under way, but for 2*told messages: eight, and those that
// the reader has taken and not told of. Where ranks share processors a writer fills what there is before its reader runs; more
// than this gains nothing, and costs a search for pages where memory is new.
func underFor(crowded bool) int {
	if !crowded {
		return room
	}
	return crowdUnder
}

// mediumFor is the longest message that passes through the ring between n ranks whatever its reader wishes.
func mediumFor(n int, crowded bool) int {
	if !crowded {
		return ringAlways
	}
	m := crowdMedium
	for m < longest && 2*m*n*n <= crowdRings {
		m *= 2
	}
	return m
}

// Lanes begin at cache lines: a head and blocks of ranks are whole ones.
const (
	_ = -(unsafe.Sizeof(head{}) % 64)
	_ = -(unsafe.Sizeof(rankBlock{}) % 64)
	_ = -(unsafe.Sizeof(slot{}) % 64)
	_ = -(unsafe.Sizeof(door{}) % 64)
	_ = -(unsafe.Sizeof(lane{}) % 64)
)

// segmentLen is the bytes of a segment for n ranks. Pages that are never reserved
// take no memory, so of lanes between ranks that do not talk only the slots and notes cost any: see room_linux.go.
func segmentLen(n int) int {
	return int(unsafe.Sizeof(head{})) + n*int(unsafe.Sizeof(rankBlock{})) + n*n*int(unsafe.Sizeof(lane{}))
}

// segment is the mapped memory.
type segment struct {
	bytes []byte
	n     int
	file  *os.File // to reserve more of it

	mu       sync.Mutex
	released bool // its addresses are another's
}

// at is where a lane begins.
func (s *segment) at(from, to int) int {
	return int(unsafe.Sizeof(head{})) + s.n*int(unsafe.Sizeof(rankBlock{})) + (from*s.n+to)*int(unsafe.Sizeof(lane{}))
}

func (s *segment) head() *head { return (*head)(unsafe.Pointer(&s.bytes[0])) }

func (s *segment) rank(r int) *rankBlock {
	at := int(unsafe.Sizeof(head{})) + r*int(unsafe.Sizeof(rankBlock{}))
	return (*rankBlock)(unsafe.Pointer(&s.bytes[at]))
}

func (s *segment) lane(from, to int) *lane {
	return (*lane)(unsafe.Pointer(&s.bytes[s.at(from, to)]))
}
