package cpu

// chooseLoops take each value from p where mask has a bit and from q where not.
// All slices of a call are as long as dst; a bitmap that changes at every row
// costs no more than one that never does, and memory is the limit: three bytes
// moved for each of the result's.
type chooseLoops struct {
	u8  func(dst, p, q []uint8, mask []byte)
	u16 func(dst, p, q []uint16, mask []byte)
	u32 func(dst, p, q []uint32, mask []byte)
	u64 func(dst, p, q []uint64, mask []byte)
}

func goChooseLoops() chooseLoops {
	return chooseLoops{u8: chooseRows[uint8], u16: chooseRows[uint16], u32: chooseRows[uint32], u64: chooseRows[uint64]}
}

// chooserOf is the loop for values of a type.
func chooserOf[T any](l *loops) func(dst, p, q []T, mask []byte) {
	var choose func(dst, p, q []T, mask []byte)
	switch f := any(&choose).(type) {
	case *func(dst, p, q []uint8, mask []byte):
		*f = l.choose.u8
	case *func(dst, p, q []uint16, mask []byte):
		*f = l.choose.u16
	case *func(dst, p, q []uint32, mask []byte):
		*f = l.choose.u32
	case *func(dst, p, q []uint64, mask []byte):
		*f = l.choose.u64
	default:
		return chooseBranching[T]
	}
	return choose
}

// chooseRows has no branch for a value.
func chooseRows[T unsigned](dst, p, q []T, mask []byte) {
	p, q = p[:len(dst)], q[:len(dst)]
	for i := range dst {
		keep := -T(mask[i>>3] >> (uint(i) & 7) & 1)
		dst[i] = q[i] ^ (p[i]^q[i])&keep
	}
}

func chooseBranching[T any](dst, p, q []T, mask []byte) {
	for i := range dst {
		if dst[i] = q[i]; mask[i>>3]>>(uint(i)&7)&1 != 0 {
			dst[i] = p[i]
		}
	}
}
