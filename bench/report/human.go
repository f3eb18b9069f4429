package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes prints a size in binary units with three significant digits: "0 B",
// "1.5 KiB", "12.0 MiB".
func Bytes(n int64) string {
	if n > -1024 && n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), 0
	for math.Abs(v) >= 1023.5 && unit < 6 {
		v /= 1024
		unit++
	}
	return threeDigits(v) + " " + "KMGTPE"[unit-1:unit] + "iB"
}

// Seconds prints a time with three significant digits in the unit that fits:
// "850 ns", "12.3 µs", "4.56 ms", "7.89 s". Zero is "0 s".
func Seconds(s float64) string {
	switch a := math.Abs(s); {
	case a == 0:
		return "0 s"
	case a < 999.5e-9:
		return threeDigits(s*1e9) + " ns"
	case a < 999.5e-6:
		return threeDigits(s*1e6) + " µs"
	case a < 0.9995:
		return threeDigits(s*1e3) + " ms"
	}
	return threeDigits(s) + " s"
}

// Rate prints a number per second with a decimal prefix and three significant
// digits: "950", "12.3 k", "4.56 M", "7.89 G".
func Rate(perSecond float64) string {
	v, unit := perSecond, 0
	for math.Abs(v) >= 999.5 && unit < 4 {
		v /= 1000
		unit++
	}
	if unit == 0 {
		return threeDigits(v)
	}
	return threeDigits(v) + " " + "kMGT"[unit-1:unit]
}

// Count prints a whole number with commas between groups of three digits.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// threeDigits keeps three significant digits without an exponent. The limits
// lie where rounding would otherwise add a digit.
func threeDigits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
