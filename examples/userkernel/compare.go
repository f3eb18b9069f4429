package main

import (
	"fmt"
	"io"
	"math"
)

// bound is how far apart two devices may be, in nautical miles: a centimetre.
// Sines of two mathematical libraries differ in their last digits. That is far
// less than a millimetre, except near the other end of the Earth, where the
// formula makes it larger: a centimetre within a hundred metres of it.
const bound = 1e-5 / 1.852

// compare holds the answers of all devices against the CPU's.
func compare(w io.Writer, all []answers) error {
	if len(all) == 0 {
		return fmt.Errorf("no device")
	}
	cpu := all[len(all)-1] // the devices are listed by preference
	for _, a := range all {
		if a.routes != cpu.routes {
			return fmt.Errorf("%s and %s differ:\n%s%s", a.device, cpu.device, a.routes, cpu.routes)
		}
		if len(a.miles) != len(cpu.miles) {
			return fmt.Errorf("%s has %d points, %s %d", a.device, len(a.miles), cpu.device, len(cpu.miles))
		}
		worst := math.Abs(a.mean-cpu.mean) / 1.852
		for i, m := range a.miles {
			d := math.Abs(m - cpu.miles[i])
			if !(d <= bound) {
				return fmt.Errorf("point %d: %s says %v nautical miles, %s %v", i, a.device, m, cpu.device, cpu.miles[i])
			}
			worst = max(worst, d)
		}
		if !(worst <= bound) {
			return fmt.Errorf("the mean of %s is %v km, that of %s %v", a.device, a.mean, cpu.device, cpu.mean)
		}
		fmt.Fprintf(w, "%s is within %.2g mm of %s\n", a.device, worst*1.852e6, cpu.device)
	}
	return nil
}
