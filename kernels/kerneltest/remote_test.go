package kerneltest_test

import (
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

func remote(t *testing.T, set *kernels.Set) *kernels.Backend {
	b := kerneltest.Remote(memory.Place{Type: memory.OpenCL, ID: 3}, set)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// The suite holds kernels to the reference on a device whose memory the host
// cannot address, and sees errors that are planted there.
func TestSuiteOnRemoteDevice(t *testing.T) {
	kerneltest.Run(t, remote(t, cpu.Generic()), kerneltest.Size(extent()))
}

// extent is that of the suite on a pretended device.
func extent() kerneltest.Extent {
	if testing.Short() {
		return kerneltest.Least
	}
	return kerneltest.Tiny
}

func BenchmarkRemoteDevice(b *testing.B) {
	kerneltest.Bench(b, kerneltest.Remote(memory.Place{Type: memory.OpenCL, ID: 3}, cpu.Generic()))
}

func TestPlantedOnRemoteDevice(t *testing.T) { kerneltest.Planted(t, remote(t, cpu.Generic())) }

// A backend that has kernels for some types only is held to those.
func TestSuiteOnFewTypes(t *testing.T) {
	for name, types := range map[string]kernels.Types{
		"numbers": kernels.TypesOf(arrow.INT64, arrow.FLOAT64, arrow.UINT8),
		"others":  kernels.TypesOf(arrow.INT32, arrow.FLOAT32, arrow.BOOL, arrow.STRING, arrow.DICTIONARY, arrow.LIST),
	} {
		t.Run(name, func(t *testing.T) {
			few := cpu.Generic()
			few.Name = "generic for " + name
			v := reflect.ValueOf(few).Elem()
			for i := range v.NumField() {
				if f := v.Field(i); f.Kind() == reflect.Struct {
					f.FieldByName("Types").SetUint(f.FieldByName("Types").Uint() & uint64(types))
				}
			}
			kerneltest.Run(t, remote(t, few), kerneltest.Size(extent()))
		})
	}
}
