package kernels

// referenceGroup puts the reference loops of group kernels into s.
func referenceGroup(s *Set) {
}
