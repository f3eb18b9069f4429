package dataloader

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
)

// plan is what batches are made of: the parts, features before labels.
type plan struct {
	parts   []Part
	names   []string       // of the columns read, in the order of the parts
	columns []int          // the same in the source
	matrix  bool           // the first part is the features' matrix
	apart   map[string]int // the parts that are features of their own
	labels  int            // the part of the labels, or -1
}

// featuresPart is the part that is the features' matrix.
func (p *plan) featuresPart() (part int, why string) {
	if !p.matrix {
		return 0, "the features are no matrix here"
	}
	return 0, ""
}

// labelsPart is the part of the labels.
func (p *plan) labelsPart() (part int, why string) {
	if p.labels < 0 {
		return 0, "there are no labels"
	}
	return p.labels, ""
}

// columnPart is the part that is a feature of its own.
func (p *plan) columnPart(name string) (part int, why string) {
	if i, ok := p.apart[name]; ok {
		return i, ""
	}
	return 0, fmt.Sprintf("there is no feature %q that is a column", name)
}

// planner makes a plan.
type planner struct {
	plan
	schema  *arrow.Schema
	options *Options
}

// newPlan finds the columns.
func newPlan(s *arrow.Schema, o *Options) (*plan, error) {
	p := &planner{plan{labels: -1, apart: map[string]int{}}, s, o}
	for name := range o.Encode {
		if len(s.FieldIndices(name)) != 1 {
			return nil, device.Errorf(device.ErrMismatch, "", "dataloader", "there is no column %q to encode", name)
		}
	}
	if err := p.addFeatures(); err != nil {
		return nil, err
	}
	if err := p.addLabels(); err != nil {
		return nil, err
	}
	if len(p.parts) == 0 {
		return nil, device.Errorf(device.ErrMismatch, "", "dataloader", "no columns: batches would hold nothing")
	}
	return &p.plan, nil
}

// features are the names of the features.
func (p *planner) features() []string {
	if p.options.Features != nil {
		return p.options.Features
	}
	var names []string
	for _, f := range p.schema.Fields() {
		w := p.options.Window
		if w == nil && !slices.Contains(p.options.Labels, f.Name) || w != nil && f.Name != w.Entity {
			names = append(names, f.Name)
		}
	}
	return names
}

// column finds a column, and the type it has by itself.
func (p *planner) column(name string, before []string) (i int, own arrow.DataType, err error) {
	at := p.schema.FieldIndices(name)
	if len(at) != 1 {
		return 0, nil, device.Errorf(device.ErrMismatch, "", "dataloader", "there is no column %q", name)
	}
	if slices.Contains(before, name) {
		return 0, nil, device.Errorf(device.ErrMismatch, "", "dataloader", "column %q is named twice", name)
	}
	p.names, p.columns = append(p.names, name), append(p.columns, at[0])
	f := p.schema.Field(at[0])
	if e := p.options.Encode[name]; e != nil {
		if err := e.check(f); err != nil {
			return 0, nil, err
		}
		switch e.made {
		case encodeList:
			return at[0], f.Type.(arrow.ListLikeType).Elem(), nil
		case encodeBytes:
			return at[0], e.typ, nil
		default:
			return at[0], arrow.PrimitiveTypes.Int64, nil
		}
	}
	if own = numberOf(f.Type); own == nil {
		return 0, nil, device.Errorf(device.ErrUnsupported, "", "dataloader", "column %q is of type %v, which is no number: cast it or encode it first, or leave it out", name, f.Type)
	}
	return at[0], own, nil
}

func (p *planner) addFeatures() error {
	matrix := p.part(p.options.Type, p.options.Layout == ColumnMajor)
	var apart []Part
	var names []string
	for k, name := range p.features() {
		i, own, err := p.column(name, p.names[:k])
		if err != nil {
			return err
		}
		e := p.options.Encode[name]
		if p.options.Layout != Columns && !e.apart() {
			matrix.add(i, e)
			continue
		}
		if p.options.Type != nil && e.kind() != encodeBytes {
			own = p.options.Type
		}
		if e.kind() == encodeList {
			if _, err := setterOf(own); err != nil {
				return err
			}
		}
		one := p.part(own, false)
		one.add(i, e)
		apart, names = append(apart, one), append(names, name)
	}
	if p.matrix = len(matrix.Columns) > 0; p.matrix {
		p.parts = append(p.parts, matrix)
	}
	for k, one := range apart {
		p.apart[names[k]] = len(p.parts)
		p.parts = append(p.parts, one)
	}
	if w := p.options.Window; w != nil {
		for i := range p.parts {
			if p.parts[i].lists() {
				return device.Errorf(device.ErrUnsupported, "", "dataloader", "windows of lists")
			}
			p.parts[i].Steps = w.History
		}
	}
	return nil
}

func (p *planner) addLabels() error {
	labels, before := p.part(p.options.LabelType, p.options.Layout == ColumnMajor), p.names
	if p.options.Window != nil { // whose labels are often features too
		before = nil
	}
	for k, name := range p.options.Labels {
		i, _, err := p.column(name, append(before[:len(before):len(before)], p.options.Labels[:k]...))
		if err != nil {
			return err
		}
		e := p.options.Encode[name]
		if e.apart() {
			return device.Errorf(device.ErrUnsupported, "", "dataloader", "column %q cannot be a label: lists and decoded values are features", name)
		}
		labels.add(i, e)
	}
	if w := p.options.Window; w != nil {
		labels.From, labels.Steps = w.History, w.Horizon
		if w.Horizon == 0 {
			labels.From = w.History - 1
		}
	}
	if len(labels.Columns) > 0 {
		p.labels = len(p.parts)
		p.parts = append(p.parts, labels)
	}
	return nil
}

func (p *planner) part(t arrow.DataType, columnMajor bool) Part {
	return Part{Type: t, ColumnMajor: columnMajor, Mask: p.options.Masks}
}

// add gives a part one column more.
func (p *Part) add(column int, e *Encoding) {
	p.Columns = append(p.Columns, column)
	if e != nil && p.Encodings == nil {
		p.Encodings = make([]*Encoding, len(p.Columns)-1)
	}
	if p.Encodings != nil {
		p.Encodings = append(p.Encodings, e)
	}
}
