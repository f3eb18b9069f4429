package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// Folder is the source of the files of a folder, as FilesOf has them.
func Folder(path string) (table.Source, error) {
	paths, err := FilesOf(path)
	if err != nil {
		return nil, err
	}
	switch f, err := FormatOf(paths[0]); {
	case err != nil:
		return nil, err
	case f == FormatParquet:
		return Parquet(paths...), nil
	case f == FormatCSV:
		return CSV(csvByExtension(paths[0]), paths...), nil
	default:
		return IPC(paths...), nil
	}
}

// FilesOf is the files of a folder, in lexical order: all must be
// of one format by their extensions. Names that begin with a dot or an
// underscore, as writers of datasets give to what is no data, and folders in it
// are passed over. Where there are none it is an ErrMismatch.
func FilesOf(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, inFile(path, "", err, device.ErrUnavailable)
	}
	var paths []string
	var format Format
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "_") {
			continue
		}
		file := filepath.Join(path, e.Name())
		f, err := FormatOf(file)
		if err != nil {
			return nil, err
		}
		if format != "" && f != format {
			return nil, &Error{Path: file, Kind: device.ErrMismatch, Text: fmt.Sprintf("a file of %s in a folder of %s", f, format)}
		}
		paths, format = append(paths, file), f
	}
	if len(paths) == 0 {
		return nil, &Error{Path: path, Kind: device.ErrMismatch, Text: "there are no files in it"}
	}
	return paths, nil
}
