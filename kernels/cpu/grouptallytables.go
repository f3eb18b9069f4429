package cpu

// spare is how many low bits of hashes are free: one that says that a record has no
// value, where values have nulls.
func (t *tallying[S]) spare() uint {
	if t.valid != nil {
		return 1
	}
	return 0
}

// putTables writes the groups of tables of ranges of hashes in the order of their
// hashes, whatever the number and the sizes of tables, or in that of first rows. It
// gives the tables' memory back.
func (t *tallying[S]) putTables(tables []tallyTable[S], skip, up uint) error {
	lists := make([]vec[tallySlot[S]], len(tables))
	err := tasks(t.ctx, len(tables), func(_, part int) (err error) {
		h := &tables[part]
		if lists[part], err = newVec[tallySlot[S]](t.a, h.used+1); err != nil {
			return err
		}
		lists[part].s = h.byHash(lists[part].s, skip)
		for k := range lists[part].s {
			s := &lists[part].s[k]
			s.word = wordOf(s.word, up)
			if t.firsts {
				s.counts = uint64(h.firsts.s[s.counts>>32])<<32 | uint64(uint32(s.counts))
			}
		}
		t.a.drop(h.slots.b)
		t.a.drop(h.firsts.b)
		return nil
	})
	if err != nil {
		return err
	}
	return t.putLists(lists)
}

// byHash puts the groups of a part's table into list, which has room for them, in the
// order of their hashes, which agree in the first skip bits. Slots are nearly in that
// order: only those of a run of slots that are not free are not, and those whose
// search went on at the first slot.
func (h *tallyTable[S]) byHash(list []tallySlot[S], skip uint) []tallySlot[S] {
	k := 0
	put := func(s *tallySlot[S]) {
		j := k
		for ; j > 0 && list[j-1].word > s.word; j-- {
			list[j] = list[j-1]
		}
		list[j] = *s
		k++
	}
	slots, shift := h.slots.s, h.shift
	for i := range slots {
		if s := &slots[i]; s.counts != 0 && s.word<<(skip&63)>>(shift&63) <= uint64(i) {
			put(s)
		}
	}
	for i := range slots {
		s := &slots[i]
		if s.counts == 0 {
			break
		}
		if s.word<<(skip&63)>>(shift&63) > uint64(i) {
			put(s)
		}
	}
	return list[:k]
}
