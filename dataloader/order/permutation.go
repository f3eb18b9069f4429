package order

import "math/bits"

// The rounds of the Feistel network. Luby and Rackoff need four for a permutation
// that looks random from both sides; a round function of a few bits is less than
// random, and has to be made up for by more.
const (
	fewRounds  = 6
	manyRounds = 16
	smallWidth = 16 // bits, up to which there are many
)

// What rounds multiply by, before their keys change it.
const (
	evenFactor = 0xa0761d6478bd642f
	oddFactor  = 0xe7037ed1a0b428db
)

// Permutation is a pseudo-random order of the numbers [0, n) that is computed
// and not stored: it takes no memory, and any position of it is found at once.
//
// It is a Feistel network over the least power of two that holds n, with halves
// that differ by at most a bit (Black and Rogaway, "Ciphers with arbitrary
// finite domains", 2002), whose round function folds a 64×64-bit product. A
// result outside of [0, n) is put in again until it is inside (cycle walking):
// less than twice on average.
type Permutation struct {
	n           uint64
	left, right uint // bits of the halves
	rounds      int
	keys        [manyRounds]uint64
}

// NewPermutation is the order of an epoch: seed and epoch choose it. n must not
// be negative; of no numbers there is the empty order.
func NewPermutation(n int64, seed, epoch uint64) Permutation {
	p := Permutation{n: uint64(max(0, n)), rounds: manyRounds}
	if p.n > 1 {
		width := uint(bits.Len64(p.n - 1))
		p.left, p.right = width/2, width-width/2
		if width > smallWidth {
			p.rounds = fewRounds
		}
	}
	state := mix(seed) ^ mix(epoch+0x9e3779b97f4a7c15)
	for i := range p.keys[:p.rounds] {
		state += 0x9e3779b97f4a7c15
		p.keys[i] = mix(state)
	}
	return p
}

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Len is how many numbers are permuted.
func (p *Permutation) Len() int64 { return int64(p.n) }

// At is the number at a position. The position must be in [0, Len()).
func (p *Permutation) At(position int64) int64 {
	x := uint64(position)
	for {
		if x = p.once(x); x < p.n {
			return int64(x)
		}
	}
}

// once is one pass through the network. A round adds to one half what a keyed
// function makes of the other; the halves keep their places, so that they may
// differ in width.
func (p *Permutation) once(x uint64) uint64 {
	mask, low := uint64(1)<<p.left-1, uint64(1)<<p.right-1
	l, r := x>>p.right, x&low
	for keys := p.keys[:p.rounds]; len(keys) > 1; keys = keys[2:] {
		hi, lo := bits.Mul64(r^keys[0], evenFactor^keys[0]>>1)
		l ^= (hi ^ lo) & mask
		hi, lo = bits.Mul64(l^keys[1], oddFactor^keys[1]>>1)
		r ^= (hi ^ lo) & low
	}
	return l<<p.right | r
}

// together is how many numbers Fill puts through the network at a time.
const together = 512

// Fill writes the numbers at the positions from on into dst; after the last
// position comes the first again. Of no numbers it writes nothing. Numbers go
// through the network side by side, in vectors where the processor has them, and
// those that come out outside of [0, Len()) together once more.
func (p *Permutation) Fill(dst []int64, from int64) {
	if p.n == 0 {
		return
	}
	at := from
	if at >= int64(p.n) {
		at %= int64(p.n)
	}
	if len(dst) < step {
		for i := range dst {
			dst[i] = p.At(at)
			at = p.after(at)
		}
		return
	}
	net := p.network()
	for len(dst) > 0 {
		d := dst[:min(together, len(dst))]
		dst = dst[len(d):]
		for i := range d {
			d[i] = at
			at = p.after(at)
		}
		p.pass(&net, d)
		p.walk(&net, d)
	}
}

// after is the position after one.
func (p *Permutation) after(at int64) int64 {
	if at++; at == int64(p.n) {
		return 0
	}
	return at
}

// outside is 1 for what the network gave outside of [0, Len()), else 0.
func (p *Permutation) outside(x int64) int { return int(uint64(int64(p.n-1)-x) >> 63) }

// walk puts those of up to together numbers in again that are outside.
func (p *Permutation) walk(net *network, d []int64) {
	var places [together]int16
	var again [together]int64
	n := 0
	for i, x := range d {
		places[n&(together-1)] = int16(i)
		n += p.outside(x)
	}
	for n > 0 {
		for k, i := range places[:n] {
			again[k] = d[i]
		}
		p.pass(net, again[:n])
		left := 0
		for k, i := range places[:n] {
			d[i] = again[k]
			places[left] = i
			left += p.outside(again[k])
		}
		n = left
	}
}

// pass is once of each of some numbers.
func (p *Permutation) pass(net *network, d []int64) {
	k := vectors(net, d)
	for i, x := range d[k:] {
		d[k+i] = int64(p.once(uint64(x)))
	}
}
