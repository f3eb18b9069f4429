package collective

import "io"

// Keep gives what a package above keeps with the Comm under a name: what makes one is
// called when it is first asked for. Close closes it, before the other ranks are told that this
// one leaves; a Comm that is made of this one, by Sub or Shrink, has none of it.
func (c *Comm) Keep(name string, makes func() io.Closer) io.Closer {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.kept[name]
	if kept == nil {
		kept = makes()
		if c.closed.Load() { // Close has been here already
			_ = kept.Close() // it is empty
			return kept
		}
		if c.kept == nil {
			c.kept = map[string]io.Closer{}
		}
		c.kept[name] = kept
	}
	return kept
}

// closeKept closes what is kept.
func (c *Comm) closeKept() (list []error) {
	c.mu.Lock()
	all := c.kept
	c.kept = nil
	c.mu.Unlock()
	for _, kept := range all {
		list = append(list, kept.Close())
	}
	return list
}
