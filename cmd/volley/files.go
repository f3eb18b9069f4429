package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/volley-go/volley/bench/report"
)

// writeFiles writes the lines, the charts and the page of a suite into a
// folder that exists, and returns their paths. The name begins each file's.
func writeFiles(dir, name string, p *report.Page) (paths []string, err error) {
	write := func(file string, fn func(io.Writer) error) {
		if err != nil {
			return
		}
		path := filepath.Join(dir, file)
		if err = writeFile(path, fn); err == nil {
			paths = append(paths, path)
		}
	}
	write(name+".jsonl", func(w io.Writer) error {
		lines := report.NewWriter(w)
		for _, r := range p.Records {
			if err := lines.Record(r); err != nil {
				return err
			}
		}
		for _, a := range p.Answers {
			if err := lines.Answer(a); err != nil {
				return err
			}
		}
		return nil
	})
	for _, c := range report.Charts(p.Records) {
		write(c.Name+".png", c.WritePNG)
	}
	write(name+".html", p.WriteHTML)
	return paths, err
}

// writeFile writes a file under another name first, so that a failure leaves
// neither half a file nor the loss of an older one.
func writeFile(path string, fn func(io.Writer) error) (err error) {
	f, err := os.Create(path + ".part")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error is the one to tell
		}
	}()
	err = fn(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
