//go:build cgo

package main

import (
	"fmt"
	"strconv"
	"strings"
)

// decimalDigits are the digits that a decimal of so many bits can hold.
var decimalDigits = map[string]int{"32": 9, "64": 18, "128": 38, "256": 76}

// checkFormat refuses a format of Arrow's C data interface whose numbers no type has.
func checkFormat(format string) error {
	switch {
	case strings.HasPrefix(format, "d:"):
		return checkDecimal(format)
	case strings.HasPrefix(format, "w:"):
		return checkWidth(format, format[2:])
	case strings.HasPrefix(format, "+w:"):
		return checkWidth(format, format[3:])
	}
	return nil
}

// checkDecimal looks at d:precision,scale or d:precision,scale,bits.
func checkDecimal(format string) error {
	parts := strings.Split(format[2:], ",")
	bits := "128"
	if len(parts) == 3 {
		bits = parts[2]
	}
	if len(parts) < 2 || len(parts) > 3 || decimalDigits[bits] == 0 {
		return fmt.Errorf("the format %q is none of a decimal: d:precision,scale and after a comma 32, 64, 128 or 256 bits", format)
	}
	precision, err := strconv.Atoi(parts[0])
	if err != nil || precision < 1 || precision > decimalDigits[bits] {
		return fmt.Errorf("the format %q has a precision of %s: a decimal of %s bits has from 1 to %d digits", format, parts[0], bits, decimalDigits[bits])
	}
	if scale, err := strconv.Atoi(parts[1]); err != nil || scale < -decimalDigits[bits] || scale > decimalDigits[bits] {
		return fmt.Errorf("the format %q has a scale of %s: a decimal of %s bits has from %d to %d", format, parts[1], bits, -decimalDigits[bits], decimalDigits[bits])
	}
	return nil
}

// checkWidth looks at the number of bytes, or of elements, of values of one size.
func checkWidth(format, text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 0 || n > 1<<31-1 {
		return fmt.Errorf("the format %q has values of %s: from 0 to %d can be", format, text, 1<<31-1)
	}
	return nil
}
