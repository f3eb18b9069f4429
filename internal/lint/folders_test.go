package lint

import (
	"fmt"
	"testing"
)

func TestFolders(t *testing.T) {
	files := make(map[string]string)
	plant := func(n int, pattern, text string) {
		for i := range n {
			files[fmt.Sprintf(pattern, i)] = text
		}
	}
	generated := string(markStart) + " by go run gen.go. DO NOT EDIT.\n"
	plant(maxFiles, "full/a%d.go", "package full")
	plant(9, "full/a%d_test.go", "package full")
	plant(9, "full/g%d.go", generated+"package full")
	plant(9, "full/a%d.md", "text")
	plant(9, "full/part/a%d.go", "package part")
	plant(maxFiles-1, "over/a%d.go", "package over")
	plant(2, "over/a%d.s", "TEXT")
	plant(maxFiles, "py/a%d.py", "x")
	plant(9, "py/test_a%d.py", "x")
	plant(maxFiles+1, "excused/a%d.c", "int x;")
	plant(maxFiles+1, "scripts/a%d.sh", "true")
	table := []Folder{{Path: "excused"}, {Path: "full"}, {Path: "gone"}}
	want := []string{
		"over: 61 code files, the limit is 60",
		"scripts: 61 code files, the limit is 60",
	}
	expect(t, foldersAgainst(load(t, files), table), want...)
	files["internal/lint/folders.go"] = "package lint" // the table is of this tree
	expect(t, foldersAgainst(load(t, files), table), append([]string{
		"internal/lint/folders.go: full has a row in the table Folders, but only 60 code files",
		"internal/lint/folders.go: gone has a row in the table Folders, but only 0 code files",
	}, want...)...)
}
