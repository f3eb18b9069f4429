//go:build !purego && !race

#include "textflag.h"

// func Store32(word *atomic.Uint32, v uint32)
TEXT ·Store32(SB), NOSPLIT, $0-12
	MOVQ word+0(FP), AX
	MOVL v+8(FP), CX
	MOVL CX, (AX)
	RET

// func Store64(word *atomic.Uint64, v uint64)
TEXT ·Store64(SB), NOSPLIT, $0-16
	MOVQ word+0(FP), AX
	MOVQ v+8(FP), CX
	MOVQ CX, (AX)
	RET

// func AddEach(words *[8]atomic.Uint64, n *[8]uint64)
TEXT ·AddEach(SB), NOSPLIT, $0-16
	MOVQ words+0(FP), AX
	MOVQ n+8(FP), CX
	MOVQ 0(CX), DX
	ADDQ DX, 0(AX)
	MOVQ 8(CX), DX
	ADDQ DX, 8(AX)
	MOVQ 16(CX), DX
	ADDQ DX, 16(AX)
	MOVQ 24(CX), DX
	ADDQ DX, 24(AX)
	MOVQ 32(CX), DX
	ADDQ DX, 32(AX)
	MOVQ 40(CX), DX
	ADDQ DX, 40(AX)
	MOVQ 48(CX), DX
	ADDQ DX, 48(AX)
	MOVQ 56(CX), DX
	ADDQ DX, 56(AX)
	RET

// func Own(p unsafe.Pointer, n int)
TEXT ·Own(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ n+8(FP), CX

next:
	BYTE $0x0F; BYTE $0x0D; BYTE $0x08 // PREFETCHW (AX)
	ADDQ $64, AX
	SUBQ $64, CX
	JGT  next
	RET

// func Fetch(p unsafe.Pointer)
TEXT ·Fetch(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), AX
	PREFETCHT0 (AX)
	RET

// func StoreThree(words *[3]atomic.Uint64, a, b, c uint64)
TEXT ·StoreThree(SB), NOSPLIT, $0-32
	MOVQ words+0(FP), AX
	MOVQ a+8(FP), CX
	MOVQ b+16(FP), DX
	MOVQ c+24(FP), BX
	MOVQ CX, 0(AX)
	MOVQ DX, 8(AX)
	MOVQ BX, 16(AX)
	RET
