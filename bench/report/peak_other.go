//go:build !linux && !darwin

package report

// PeakRSS returns the peak of this process's resident memory in bytes. It is
// not known on this platform: the error is [ErrNotKnown].
func PeakRSS() (int64, error) { return 0, ErrNotKnown }

// ResetPeakRSS sets the peak of resident memory back to what is resident now.
// It is not known on this platform: the error is [ErrNotKnown].
func ResetPeakRSS() error { return ErrNotKnown }
