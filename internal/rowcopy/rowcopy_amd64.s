#include "textflag.h"

// DI is where the next row goes, R13 the step; SI is the first row, CX their width. R8
// is at the number of the next row, R9 counts the rows whose numbers stand R10 bytes
// before those of others, which are asked for. A row's last byte is asked for too: it
// may be in a line more than its width has.

#define ARGUMENTS \
	MOVQ to+0(FP), DI    \
	MOVQ step+8(FP), R13 \
	MOVQ from+16(FP), SI \
	MOVQ width+24(FP), CX \
	MOVQ rows+32(FP), R8 \
	MOVQ n+40(FP), R9    \
	MOVQ ahead+48(FP), R10 \
	SUBQ R10, R9

// func copyWide(to *byte, step int, from *byte, width int, rows *int64, n, ahead int)
TEXT ·copyWide(SB), NOSPLIT, $0-56
	ARGUMENTS
	LEAQ -32(CX), R12
	MOVQ R10, R11
	MOVQ R8, R14

first:
	MOVQ  (R14), AX
	IMULQ CX, AX
	ADDQ  SI, AX
	LEAQ  -1(AX)(CX*1), DX

firstline:
	PREFETCHT0 (AX)
	ADDQ       $64, AX
	CMPQ       AX, DX
	JLS        firstline
	PREFETCHT0 (DX)
	ADDQ       $8, R14
	DECQ       R11
	JNZ        first
	TESTQ      R9, R9
	JZ         rest

row:
	MOVQ  (R8)(R10*8), AX
	IMULQ CX, AX
	ADDQ  SI, AX
	LEAQ  -1(AX)(CX*1), DX

line:
	PREFETCHT0 (AX)
	ADDQ       $64, AX
	CMPQ       AX, DX
	JLS        line
	PREFETCHT0 (DX)
	MOVQ       (R8), AX
	IMULQ      CX, AX
	ADDQ       SI, AX
	XORQ       DX, DX
	CMPQ       DX, R12
	JGE        end

part:
	VMOVDQU (AX)(DX*1), Y0
	VMOVDQU Y0, (DI)(DX*1)
	ADDQ    $32, DX
	CMPQ    DX, R12
	JLT     part

end:
	VMOVDQU (AX)(R12*1), Y0
	VMOVDQU Y0, (DI)(R12*1)
	ADDQ    R13, DI
	ADDQ    $8, R8
	DECQ    R9
	JNZ     row

rest:
	MOVQ  (R8), AX
	IMULQ CX, AX
	ADDQ  SI, AX
	XORQ  DX, DX
	CMPQ  DX, R12
	JGE   restend

restpart:
	VMOVDQU (AX)(DX*1), Y0
	VMOVDQU Y0, (DI)(DX*1)
	ADDQ    $32, DX
	CMPQ    DX, R12
	JLT     restpart

restend:
	VMOVDQU (AX)(R12*1), Y0
	VMOVDQU Y0, (DI)(R12*1)
	ADDQ    R13, DI
	ADDQ    $8, R8
	DECQ    R10
	JNZ     rest
	VZEROUPPER
	RET

// ASK asks for the row whose number is in AX.
#define ASK \
	IMULQ      CX, AX          \
	ADDQ       SI, AX          \
	PREFETCHT0 (AX)            \
	PREFETCHT0 -1(AX)(CX*1)

#define NARROW \
	MOVQ   (R8), AX             \
	IMULQ  CX, AX               \
	ADDQ   SI, AX               \
	MOVOU  (AX), X0             \
	MOVOU  -16(AX)(CX*1), X1    \
	MOVOU  X0, (DI)             \
	MOVOU  X1, -16(DI)(CX*1)    \
	ADDQ   R13, DI              \
	ADDQ   $8, R8

// func copyNarrow(to *byte, step int, from *byte, width int, rows *int64, n, ahead int)
TEXT ·copyNarrow(SB), NOSPLIT, $0-56
	ARGUMENTS
	MOVQ R10, R11
	MOVQ R8, R14

narrowfirst:
	MOVQ  (R14), AX
	ASK
	ADDQ  $8, R14
	DECQ  R11
	JNZ   narrowfirst
	TESTQ R9, R9
	JZ    narrowrest

narrow:
	MOVQ (R8)(R10*8), AX
	ASK
	NARROW
	DECQ R9
	JNZ  narrow

narrowrest:
	NARROW
	DECQ R10
	JNZ  narrowrest
	RET

#define SLIM(move, size) \
	MOVQ  (R8), AX             \
	IMULQ CX, AX               \
	ADDQ  SI, AX               \
	move  (AX), DX             \
	move  -size(AX)(CX*1), BX  \
	move  DX, (DI)             \
	move  BX, -size(DI)(CX*1)  \
	ADDQ  R13, DI              \
	ADDQ  $8, R8

// func copyEights(to *byte, step int, from *byte, width int, rows *int64, n, ahead int)
TEXT ·copyEights(SB), NOSPLIT, $0-56
	ARGUMENTS
	MOVQ R10, R11
	MOVQ R8, R14

eightsfirst:
	MOVQ (R14), AX
	ASK
	ADDQ $8, R14
	DECQ R11
	JNZ  eightsfirst
	TESTQ R9, R9
	JZ    eightsrest

eights:
	MOVQ (R8)(R10*8), AX
	ASK
	SLIM(MOVQ, 8)
	DECQ R9
	JNZ  eights

eightsrest:
	SLIM(MOVQ, 8)
	DECQ R10
	JNZ  eightsrest
	RET

// func copyFours(to *byte, step int, from *byte, width int, rows *int64, n, ahead int)
TEXT ·copyFours(SB), NOSPLIT, $0-56
	ARGUMENTS
	MOVQ R10, R11
	MOVQ R8, R14

foursfirst:
	MOVQ (R14), AX
	ASK
	ADDQ $8, R14
	DECQ R11
	JNZ  foursfirst
	TESTQ R9, R9
	JZ    foursrest

fours:
	MOVQ (R8)(R10*8), AX
	ASK
	SLIM(MOVL, 4)
	DECQ R9
	JNZ  fours

foursrest:
	SLIM(MOVL, 4)
	DECQ R10
	JNZ  foursrest
	RET

// func words(to *uint32, step int, places *int32, from unsafe.Pointer, rows *int64, n int, next unsafe.Pointer, nextRows *int64)
TEXT ·words(SB), NOSPLIT, $0-64
	MOVQ to+0(FP), DI
	MOVQ step+8(FP), R13
	MOVQ places+16(FP), R12
	MOVQ from+24(FP), SI
	MOVQ rows+32(FP), R8
	MOVQ n+40(FP), R9
	MOVQ next+48(FP), R10
	MOVQ nextRows+56(FP), R11
	XORQ CX, CX

word:
	MOVQ       (R11)(CX*8), DX
	MOVQ       (R8)(CX*8), AX
	PREFETCHT0 (R10)(DX*4)
	MOVLQSX    (R12)(CX*4), DX
	IMULQ      R13, DX
	MOVL       (SI)(AX*4), BX
	MOVL       BX, (DI)(DX*4)
	INCQ       CX
	CMPQ       CX, R9
	JLT        word
	RET

// func chunkedWords(to *uint32, step int, places *int32, from *unsafe.Pointer, rows *int64, chunk *int32, n int, next *unsafe.Pointer)
TEXT ·chunkedWords(SB), NOSPLIT, $0-64
	MOVQ to+0(FP), DI
	MOVQ step+8(FP), R13
	MOVQ places+16(FP), BX
	MOVQ from+24(FP), SI
	MOVQ rows+32(FP), R8
	MOVQ chunk+40(FP), R11
	MOVQ n+48(FP), R9
	MOVQ next+56(FP), R10
	XORQ CX, CX

chunked:
	MOVLQSX    (R11)(CX*4), DX
	MOVQ       (R8)(CX*8), AX
	MOVQ       (R10)(DX*8), R12
	PREFETCHT0 (R12)(AX*4)
	MOVQ       (SI)(DX*8), R12
	MOVL       (R12)(AX*4), R12
	MOVLQSX    (BX)(CX*4), DX
	IMULQ      R13, DX
	MOVL       R12, (DI)(DX*4)
	INCQ       CX
	CMPQ       CX, R9
	JLT        chunked
	RET
