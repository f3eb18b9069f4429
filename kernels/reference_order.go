package kernels

// referenceOrder puts the reference loops of order kernels into s.
func referenceOrder(s *Set) {
}
