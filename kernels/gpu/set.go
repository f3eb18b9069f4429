package gpu

import "github.com/volley-go/volley/kernels"

// set is the kernels of this device: a line for each.
func (e *Engine) set() *kernels.Set {
	return &kernels.Set{
		Name:     e.dialect.Name,
		Compare:  kernels.Entry[kernels.CompareFunc]{Func: e.compare, Types: kernels.KeyTypes},
		Logic:    kernels.Entry[kernels.LogicFunc]{Func: e.logic, Types: kernels.BoolTypes},
		Not:      kernels.Entry[kernels.NotFunc]{Func: e.not, Types: kernels.BoolTypes},
		IsNull:   kernels.Entry[kernels.IsNullFunc]{Func: e.isNull, Types: kernels.AllTypes},
		FillNull: kernels.Entry[kernels.FillNullFunc]{Func: e.fillNull, Types: kernels.KeyTypes},
		IfElse:   kernels.Entry[kernels.IfElseFunc]{Func: e.ifElse, Types: kernels.KeyTypes},
		Reduce:   kernels.Entry[kernels.ReduceFunc]{Func: e.reduce, Types: kernels.KeyTypes},
		Scan:     kernels.Entry[kernels.ScanFunc]{Func: e.scan, Types: kernels.ScanTypes},
		Hash:     kernels.Entry[kernels.HashFunc]{Func: e.hash, Types: kernels.KeyTypes},
		Group:    kernels.Entry[kernels.GroupFunc]{Func: e.group, Types: kernels.KeyTypes},
		Unique:   kernels.Entry[kernels.UniqueFunc]{Func: e.unique, Types: kernels.KeyTypes},
		IsIn:     kernels.Entry[kernels.IsInFunc]{Func: e.isIn, Types: kernels.KeyTypes},
		Filter:   kernels.Entry[kernels.FilterFunc]{Func: e.filter, Types: kernels.AllTypes},
		Take:     kernels.Entry[kernels.TakeFunc]{Func: e.take, Types: kernels.AllTypes},
		Concat:   kernels.Entry[kernels.ConcatFunc]{Func: e.concat, Types: kernels.AllTypes},
	}
}
