package gpu

import "github.com/volley-go/volley/kernels"

// set is the kernels of this device: a line for each.
func (e *Engine) set() *kernels.Set {
	return &kernels.Set{
		Name: e.dialect.Name,
		Hash: kernels.Entry[kernels.HashFunc]{Func: e.hash, Types: kernels.KeyTypes},
	}
}
