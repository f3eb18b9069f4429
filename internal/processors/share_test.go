package processors

import (
	"runtime"
	"slices"
	"testing"
)

// Processes of one machine share the processors that several of them may run on, and no others.
func TestPart(t *testing.T) {
	at := func(machine, process, processors string) Place { return Place{machine, process, processors} }
	for name, c := range map[string]struct {
		n    int
		own  Place
		all  []Place
		want int
	}{
		"alone":                {8, at("m", "a", "0-7"), []Place{at("m", "a", "0-7")}, 8},
		"unbound":              {8, at("m", "a", "0-7"), []Place{at("m", "a", "0-7"), at("m", "b", "0-7")}, 4},
		"three":                {9, at("m", "a", "0-8"), []Place{at("m", "a", "0-8"), at("m", "b", "0-8"), at("m", "c", "0-8")}, 3},
		"more than processors": {2, at("m", "a", "0-1"), []Place{at("m", "a", "0-1"), at("m", "b", "0-1"), at("m", "c", "0-1")}, 1},
		"bound each":           {2, at("m", "a", "0,4"), []Place{at("m", "a", "0,4"), at("m", "b", "1,5")}, 2},
		"bound by sockets":     {4, at("m", "a", "0-3"), []Place{at("m", "a", "0-3"), at("m", "b", "0-3"), at("m", "c", "4-7"), at("m", "d", "4-7")}, 2},
		"one is bound":         {8, at("m", "a", "0-7"), []Place{at("m", "a", "0-7"), at("m", "b", "0-3")}, 6},
		"other machines":       {8, at("m", "a", "0-7"), []Place{at("m", "a", "0-7"), at("n", "b", "0-7"), at("n", "c", "0-7")}, 8},
		"one process":          {8, at("m", "a", "0-7"), []Place{at("m", "a", "0-7"), at("m", "a", "0-7")}, 8},
		"a quota":              {4, at("m", "a", "0-63"), []Place{at("m", "a", "0-63"), at("m", "b", "0-63")}, 2},
		"nobody knows":         {8, at("m", "a", ""), []Place{at("m", "a", ""), at("m", "b", "")}, 4},
		"others do not know":   {8, at("m", "a", "0-7"), []Place{at("m", "a", "0-7"), at("m", "b", "all")}, 4},
		"older members":        {8, at("m", "a", "0-7"), []Place{at("m", "a", "0-7"), at("", "b", ""), at("", "c", "")}, 8},
	} {
		if n := Part(c.n, c.own, c.all); n != c.want {
			t.Errorf("%s: %d of %d, %d are wanted", name, n, c.n, c.want)
		}
	}
}

func TestListed(t *testing.T) {
	for text, want := range map[string][]int{"0": {0}, "0-2,8\n": {0, 1, 2, 8}, "": nil, "a-b": nil, "3-1": nil, "-1": nil, "0-99999999": nil} {
		if cpus := listed(text); !slices.Equal(cpus, want) {
			t.Errorf("%q: %v", text, cpus)
		}
	}
	if own := listed(Mine()); runtime.GOOS == "linux" && len(own) != runtime.NumCPU() {
		t.Errorf("%q, and this process may run on %d", Mine(), runtime.NumCPU())
	}
}

// The lowest limit holds until it is lifted, under what the environment says.
func TestLimit(t *testing.T) {
	before := runtime.GOMAXPROCS(8)
	told := most
	defer func() { runtime.GOMAXPROCS(before); most = told }()
	most = 0
	is := func(want int) {
		t.Helper()
		if n := Count(); n != want || Own() != 8 {
			t.Errorf("%d, without limits %d; %d of 8 is wanted", n, Own(), want)
		}
	}
	first, second := Limit(5), Limit(3)
	is(3)
	second()
	is(5)
	second()
	is(5)
	third := Limit(7)
	is(5)
	first()
	is(7)
	third()
	is(8)
	defer Limit(2)()
	is(2)
	most = 6
	if n := Count(); n != 6 {
		t.Errorf("%d, and the environment says 6", n)
	}
}
