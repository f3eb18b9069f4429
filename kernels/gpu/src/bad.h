// What is wrong with a value: a function that can fail sets bits of *bad and never clears any. The value that it returns then is the wrapped one.
#define BAD_OVERFLOW 1u
#define BAD_ZERO 2u    // division by zero
#define BAD_INEXACT 4u // a digit, a fraction or a remainder is lost
