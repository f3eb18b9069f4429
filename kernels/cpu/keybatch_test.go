package cpu

import "unsafe"

// What is handed from call to call is dirty in all tests, as it is after a while.
func init() {
	batchPool.New = func() any {
		b := &batch{}
		dirty(&b.words)
		dirty(&b.ids)
		dirty(&b.part)
		dirty(&b.own)
		dirty(&b.value)
		dirty(&b.group)
		dirty(&b.marks)
		for i := range b.skip { // a byte that is neither is no bool
			b.skip[i] = i%3 == 0
		}
		return b
	}
	shortPool.New = func() any { return dirty(new(shortRoom)) }
	samplePool.New = func() any { return dirty(new(sampleRoom)) }
}

// dirty fills what has no pointers.
func dirty[T any](v *T) *T {
	for i, bytes := 0, unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)); i < len(bytes); i++ {
		bytes[i] = byte(i*7 + 1)
	}
	return v
}
