package dl

import "strings"

// NotBuilt is the reason of every Try in a program without run-time loading.
const NotBuilt = "this program was built without run-time loading"

// Missing is the error of Open when none of the names gave a library.
type Missing struct{ Tried []Try }

// Try is one name that Open went through, and why it gave no library.
type Try struct{ Path, Reason string }

// Error lists every name with its reason.
func (m *Missing) Error() string {
	if len(m.Tried) == 0 {
		return "no library was named"
	}
	texts := make([]string, len(m.Tried))
	for i, t := range m.Tried {
		texts[i] = t.Path + ": " + t.Reason
	}
	return strings.Join(texts, "; ")
}

// reason is the text of a loader's error without the name it begins with, as
// Missing names the path already.
func reason(path string, err error) string {
	return strings.TrimPrefix(err.Error(), path+": ")
}
