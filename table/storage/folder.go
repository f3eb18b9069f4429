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
		return Parquet(paths...).With(ParquetReadOptions{HiveFrom: HiveFolder(path)}), nil
	case f == FormatCSV:
		o := csvByExtension(paths[0])
		o.HiveFrom = HiveFolder(path)
		return CSV(o, paths...), nil
	default:
		return IPC(paths...).With(IPCReadOptions{HiveFrom: HiveFolder(path)}), nil
	}
}

// FilesOf is the files of a folder, in lexical order: all must be
// of one format by their extensions. Names that begin with a dot or an
// underscore, as writers of datasets give to what is no data, are passed over, and so
// are folders in it but those named key=value, whose files are among them. Where there
// are none it is an ErrMismatch.
func FilesOf(path string) ([]string, error) {
	paths, err := filesIn(path)
	if err != nil {
		return nil, err
	}
	var format Format
	for _, file := range paths {
		f, err := FormatOf(file)
		if err != nil {
			return nil, err
		}
		if format != "" && f != format {
			return nil, &Error{Path: file, Kind: device.ErrMismatch, Text: fmt.Sprintf("a file of %s in a folder of %s", f, format)}
		}
		format = f
	}
	if len(paths) == 0 {
		return nil, &Error{Path: path, Kind: device.ErrMismatch, Text: "there are no files in it"}
	}
	return paths, nil
}

// filesIn is the files of a folder and of those in it that are named key=value.
func filesIn(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, inFile(path, "", err, device.ErrUnavailable)
	}
	var paths []string
	for _, e := range entries {
		file := filepath.Join(path, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "_"):
		case !e.IsDir():
			paths = append(paths, file)
		case strings.Contains(e.Name(), "="):
			inside, err := filesIn(file)
			if err != nil {
				return nil, err
			}
			paths = append(paths, inside...)
		}
	}
	return paths, nil
}
