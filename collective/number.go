package collective

// Number counts the calls of a name that packages above make on the Comm, from 1. Ranks
// that make the same calls get the same numbers, so a number that differs shows calls
// that do not belong together.
func (c *Comm) Number(name string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.numbers == nil {
		c.numbers = map[string]uint64{}
	}
	c.numbers[name]++
	return c.numbers[name]
}
