package main

import (
	"context"
	"io"
	"math"
	"os"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	if err := register(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(context.Background(), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	// A point is a quarter of the circumference away in the mean, wherever one stands.
	for _, want := range []string{"cpu: ", "New York - London   5540.0", "cpu is within 0 mm of cpu", "300000 points of the globe are 10007.6 km"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func TestCompare(t *testing.T) {
	right := answers{device: "cpu", routes: "a", mean: 10, miles: []float64{1, 2}}
	other := func(change func(a *answers)) answers {
		a := right
		a.device, a.miles = "gpu", []float64{1, 2}
		change(&a)
		return a
	}
	if err := compare(io.Discard, []answers{other(func(a *answers) { a.miles[1] += bound / 2 }), right}); err != nil {
		t.Error(err)
	}
	for why, change := range map[string]func(a *answers){
		"differ":          func(a *answers) { a.routes = "b" },
		"has 1 points":    func(a *answers) { a.miles = a.miles[:1] },
		"point 1: gpu":    func(a *answers) { a.miles[1] += 2 * bound },
		"point 0: gpu":    func(a *answers) { a.miles[0] = math.NaN() },
		"the mean of gpu": func(a *answers) { a.mean += 0.001 },
	} {
		if err := compare(io.Discard, []answers{other(change), right}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
	}
	if compare(io.Discard, nil) == nil {
		t.Error("no device is fine")
	}
}

// The sample in docs/dialect.md is the kernel that runs here.
func TestDialectSample(t *testing.T) {
	text, err := os.ReadFile("../../docs/dialect.md")
	if err != nil {
		t.Fatal(err)
	}
	plain := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	_, code, found := strings.Cut(plain(haversineSource), "\nFN ")
	if want := "```c\nFN " + code + "```\n"; !found || !strings.Contains(plain(string(text)), want) {
		t.Errorf("docs/dialect.md has no\n%s", want)
	}
}
