package gpu

import (
	"encoding/binary"
	"math"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// zoneTable is the offsets of a zone as zone_offset of temporal.h reads them:
// the first seconds of stretches, then the offset in each.
type zoneTable struct {
	words     []byte
	stretches int32
	fold      int64
}

// zoneTables keeps the tables by the names of the zones: a table is a walk
// through some 1300 changes of the clock.
var zoneTables sync.Map

// The rules of a zone that are still in force repeat with the calendar, every
// 400 years; by zoneFold, 2100-01-01, no other change is listed. zoneFirst lies
// before any zone's first change.
const (
	zoneFold  = 4102444800
	zoneFirst = -1e11
	zoneCycle = 146097 * 86400
)

// zone is the zone of a timestamp type as the arguments of a kernel: a null
// pointer stands for UTC.
func (c *call) zone(t arrow.DataType) []any {
	loc, err := kernels.Zone(t)
	if err != nil {
		c.fail(err)
		return nil
	}
	if loc == time.UTC {
		return []any{null(), int32(0), int64(0)}
	}
	name := t.(*arrow.TimestampType).TimeZone
	known, ok := zoneTables.Load(name)
	if !ok {
		known, _ = zoneTables.LoadOrStore(name, zoneTableOf(loc))
	}
	z := known.(*zoneTable)
	return []any{c.upload(z.words), z.stretches, z.fold}
}

func zoneTableOf(loc *time.Location) *zoneTable {
	starts, offsets := []int64{math.MinInt64}, []int64{kernels.LocalOffset(loc, zoneFirst)}
	for at := int64(zoneFirst); at <= zoneFold+zoneCycle; {
		_, end := time.Unix(at, 0).In(loc).ZoneBounds()
		if end.IsZero() {
			break
		}
		if next := end.Unix(); next > at {
			at = next
		} else {
			at += 86400 // package time ends a leap year's last stretch a day early, and stays there
		}
		if ahead := kernels.LocalOffset(loc, at); ahead != offsets[len(offsets)-1] {
			starts, offsets = append(starts, at), append(offsets, ahead)
		}
	}
	z := &zoneTable{stretches: int32(len(starts)), fold: zoneFold}
	for _, v := range append(starts, offsets...) {
		z.words = binary.LittleEndian.AppendUint64(z.words, uint64(v))
	}
	return z
}
