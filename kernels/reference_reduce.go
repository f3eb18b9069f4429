package kernels

// referenceReduce puts the reference loops of reduce kernels into s.
func referenceReduce(s *Set) {
}
