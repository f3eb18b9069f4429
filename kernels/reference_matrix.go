package kernels

// referenceMatrix puts the reference loops of matrix kernels into s.
func referenceMatrix(s *Set) {
}
