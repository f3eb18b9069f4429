package mpi

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley/internal/dl"
)

// fakeLibrary has some symbols, at addresses that nothing calls.
type fakeLibrary map[string]uintptr

func (l fakeLibrary) Path() string                 { return "libfake.so" }
func (l fakeLibrary) Optional(name string) uintptr { return l[name] }
func (l fakeLibrary) Symbol(n string) (uintptr, error) {
	if l[n] == 0 {
		return 0, errors.New("libfake.so has no " + n)
	}
	return l[n], nil
}

// complete has all functions and more symbols.
func complete(more fakeLibrary) fakeLibrary {
	l := fakeLibrary{}
	for i, name := range needed {
		l[name] = uintptr(1000 + i)
	}
	for name, at := range more {
		l[name] = at
	}
	return l
}

func TestMissingSymbols(t *testing.T) {
	for _, name := range needed {
		l := complete(fakeLibrary{"MPIR_Dup_fn": 1})
		delete(l, name)
		if _, err := bind(l); err == nil || err.Error() != "it has no "+name {
			t.Errorf("without %s: %v", name, err)
		}
	}
	if _, err := bind(fakeLibrary{}); err == nil || !strings.HasSuffix(err.Error(), strings.Join(needed, ", ")) {
		t.Errorf("without all: %v", err)
	}
}

func TestFlavours(t *testing.T) {
	open := fakeLibrary{"ompi_mpi_comm_world": 7, "ompi_mpi_byte": 8, "ompi_mpi_errors_return": 9}
	d, err := bind(complete(open))
	if err != nil || d.flavour.world != 7 || d.flavour.bytes != 8 || d.flavour.returns != 9 {
		t.Errorf("Open MPI: %+v, %v", d, err)
	}
	delete(open, "ompi_mpi_byte")
	if _, err := bind(complete(open)); err == nil || !strings.Contains(err.Error(), "ompi_mpi_byte") {
		t.Errorf("half of Open MPI: %v", err)
	}
	if d, err := bind(complete(fakeLibrary{"MPIR_Dup_fn": 1})); err != nil || d.flavour != mpich {
		t.Errorf("MPICH: %+v, %v", d, err)
	}
	if _, err := bind(complete(nil)); err == nil || !strings.Contains(err.Error(), "neither the standard ABI") {
		t.Errorf("something else: %v", err)
	}
	if !dl.Available {
		return
	}
	for major, want := range map[int32]flavour{1: standard, -1: mpich, 2: mpich} {
		answer := dl.Callback(func(to, minor *int32) uintptr {
			*to, *minor = major, 0
			return 0
		})
		if d, err := bind(complete(fakeLibrary{"MPI_Abi_get_version": answer, "MPIR_Dup_fn": 1})); err != nil || d.flavour != want {
			t.Errorf("version %d of the ABI: %+v, %v", major, d, err)
		}
	}
}

// TestLevels: the numbers of the standard ABI are not those of the others.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		f    flavour
		v    int
		want level
	}{{mpich, 0, single}, {mpich, 2, serialized}, {mpich, 3, multiple}, {standard, 3, single}, {standard, 1024, funneled}, {standard, 4096, multiple}} {
		if got := (&binding{f: c.f}).level(c.v); got != c.want {
			t.Errorf("%d in %s is %s", c.v, c.f.name, levelNames[got])
		}
	}
}

func TestNoLibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libmpi.so")
	for _, getenv := range []func(string) string{
		func(string) string { return "" },
		func(name string) string { return map[string]string{LibraryVariable: "/elsewhere"}[name] },
	} {
		_, err := load(path, getenv)
		var none *Unavailable
		if !errors.As(err, &none) || len(none.Tried) != 1 || none.Tried[0].Path != path || none.Tried[0].Reason == "" || !strings.Contains(err.Error(), path) {
			t.Errorf("load: %v", err)
		}
	}
	_, err := load("", func(name string) string { return map[string]string{LibraryVariable: path}[name] })
	var none *Unavailable
	if !errors.As(err, &none) || len(none.Tried) != 1 || none.Tried[0].Path != path {
		t.Errorf("the variable's: %v", err)
	}
	if l := names("linux"); !strings.HasPrefix(l[0], "libmpi_abi") || !slices.Contains(l, "libmpi.so.40") || !slices.Contains(l, "libmpi.so.12") {
		t.Errorf("names %v", l)
	}
}

func TestSuits(t *testing.T) {
	for _, c := range []struct {
		version, variable string
		fails             bool
	}{
		{"Open MPI v4.1.4, package", "", false}, {"Open MPI v4.1.4", "OMPI_COMM_WORLD_SIZE", false}, {"Open MPI v4.1.4", "PMI_FD", true},
		{"MPICH Version:\t5.0.2\nMPICH", "", false}, {"MPICH Version: 5", "PMI_FD", false}, {"MPICH Version: 5", "PMI_PORT", false},
		{"MPICH Version: 5", "OMPI_COMM_WORLD_SIZE", true}, {"Intel(R) MPI Library 2021", "PMI_FD", false},
	} {
		err := suits(c.version, func(name string) string {
			if name == c.variable {
				return "4"
			}
			return ""
		})
		if (err != nil) != c.fails {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
