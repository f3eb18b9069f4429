package lint

import (
	"fmt"
	"path"
)

// maxFiles is the limit on hand-written code files of a folder, tests not counted: a listing that a reader takes in at once. A folder that
// passes it holds several subjects, of which each can have a folder of its own.
const maxFiles = 60

// Folder is one row of the table of folders that may have more files.
type Folder struct {
	Path string // relative to the module's root
	Why  string
}

// Folders lists the folders that may have more than maxFiles files. A row whose folder keeps the limit fails: it goes with its reason.
var Folders = []Folder{
	{Path: "kernels/cpu", Why: "one file a kernel and loop over three tiers; its parts are yet to become packages"},
	{Path: "kernels/gpu/src", Why: "one file a kernel, of the same stem as its Go file"},
}

// checkFolders finds folders with too many hand-written code files.
func checkFolders(t *Tree) []Finding { return foldersAgainst(t, Folders) }

func foldersAgainst(t *Tree, table []Folder) []Finding {
	counts := make(map[string]int)
	for _, f := range t.Files {
		if isCode(f.Path) && !f.Generated && !f.Test && !isTestScript(f.Path) {
			counts[path.Dir(f.Path)]++
		}
	}
	var found []Finding
	for _, row := range table {
		if n := counts[row.Path]; n <= maxFiles && t.File("internal/lint/folders.go") != nil {
			found = append(found, Finding{"internal/lint/folders.go", 0,
				fmt.Sprintf("%s has a row in the table Folders, but only %d code files: take the row out", row.Path, n)})
		}
		delete(counts, row.Path)
	}
	for folder, n := range counts {
		if n > maxFiles {
			found = append(found, Finding{folder, 0, fmt.Sprintf("%d code files, the limit is %d: give a part that means something a folder of its own", n, maxFiles)})
		}
	}
	return found
}
