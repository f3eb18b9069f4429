package kernels

// referenceMovement puts the reference loops of movement kernels into s.
func referenceMovement(s *Set) {
}
