#include "textflag.h"

// A turn takes two vectors, as halves L and R of their numbers. network is laid out as
// right, mask, low, pairs, and from byte 32 on rounds of key, c, upper and sum.

// ROUND2 adds to a what the round at DX makes of b.
#define ROUND2(a, b, mask, t, u) \
	VPXOR    Y12, b, t   \
	VPMULUDQ Y14, t, u   \
	VPMULUDQ Y13, t, t   \
	VPADDQ   Y15, u, u   \
	VPSRLQ   $32, t, Y10 \
	VPADDQ   Y10, u, u   \
	VPSRLQ   $32, u, u   \
	VPXOR    t, u, u     \
	VPAND    mask, u, u  \
	VPXOR    u, a, a

#define KEYS2(at) \
	VPBROADCASTQ at+0(DX), Y12  \
	VPBROADCASTQ at+8(DX), Y13  \
	VPBROADCASTQ at+16(DX), Y14 \
	VPBROADCASTQ at+24(DX), Y15

// func onceAVX2(x *int64, n int, net *network)
TEXT ·onceAVX2(SB), NOSPLIT, $0-24
	MOVQ         x+0(FP), DI
	MOVQ         n+8(FP), CX
	MOVQ         net+16(FP), SI
	VMOVQ        (SI), X11
	VPBROADCASTQ 8(SI), Y8
	VPBROADCASTQ 16(SI), Y9
	SHRQ         $3, CX
	JZ           end2

turn2:
	VMOVDQU (DI), Y1
	VMOVDQU 32(DI), Y3
	VPSRLQ  X11, Y1, Y0
	VPSRLQ  X11, Y3, Y2
	VPAND   Y9, Y1, Y1
	VPAND   Y9, Y3, Y3
	MOVQ    24(SI), BX
	LEAQ    32(SI), DX

pair2:
	KEYS2(0)
	ROUND2(Y0, Y1, Y8, Y4, Y5)
	ROUND2(Y2, Y3, Y8, Y6, Y7)
	KEYS2(32)
	ROUND2(Y1, Y0, Y9, Y4, Y5)
	ROUND2(Y3, Y2, Y9, Y6, Y7)
	ADDQ $64, DX
	DECQ BX
	JNZ  pair2

	VPSLLQ  X11, Y0, Y0
	VPSLLQ  X11, Y2, Y2
	VPOR    Y1, Y0, Y0
	VPOR    Y3, Y2, Y2
	VMOVDQU Y0, (DI)
	VMOVDQU Y2, 32(DI)
	ADDQ    $64, DI
	DECQ    CX
	JNZ     turn2

end2:
	VZEROUPPER
	RET

#define ROUND5(a, b, mask, t, u) \
	VPXORQ     Z12, b, t        \
	VPMULUDQ   Z14, t, u        \
	VPMULUDQ   Z13, t, t        \
	VPADDQ     Z15, u, u        \
	VPSRLQ     $32, t, Z10      \
	VPADDQ     Z10, u, u        \
	VPSRLQ     $32, u, u        \
	VPTERNLOGQ $0x28, mask, t, u \
	VPXORQ     u, a, a

#define KEYS5(at) \
	VPBROADCASTQ at+0(DX), Z12  \
	VPBROADCASTQ at+8(DX), Z13  \
	VPBROADCASTQ at+16(DX), Z14 \
	VPBROADCASTQ at+24(DX), Z15

// func onceAVX512(x *int64, n int, net *network)
TEXT ·onceAVX512(SB), NOSPLIT, $0-24
	MOVQ         x+0(FP), DI
	MOVQ         n+8(FP), CX
	MOVQ         net+16(FP), SI
	VMOVQ        (SI), X11
	VPBROADCASTQ 8(SI), Z8
	VPBROADCASTQ 16(SI), Z9
	SHRQ         $4, CX
	JZ           end5

turn5:
	VMOVDQU64 (DI), Z1
	VMOVDQU64 64(DI), Z3
	VPSRLQ    X11, Z1, Z0
	VPSRLQ    X11, Z3, Z2
	VPANDQ    Z9, Z1, Z1
	VPANDQ    Z9, Z3, Z3
	MOVQ      24(SI), BX
	LEAQ      32(SI), DX

pair5:
	KEYS5(0)
	ROUND5(Z0, Z1, Z8, Z4, Z5)
	ROUND5(Z2, Z3, Z8, Z6, Z7)
	KEYS5(32)
	ROUND5(Z1, Z0, Z9, Z4, Z5)
	ROUND5(Z3, Z2, Z9, Z6, Z7)
	ADDQ $64, DX
	DECQ BX
	JNZ  pair5

	VPSLLQ    X11, Z0, Z0
	VPSLLQ    X11, Z2, Z2
	VPORQ     Z1, Z0, Z0
	VPORQ     Z3, Z2, Z2
	VMOVDQU64 Z0, (DI)
	VMOVDQU64 Z2, 64(DI)
	ADDQ      $128, DI
	DECQ      CX
	JNZ       turn5

end5:
	VZEROUPPER
	RET
