package main

import (
	"flag"
	"log"
	"os"
	"path"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("asmgen: ")
	flags := flag.NewFlagSet("asmgen", flag.ExitOnError) // avo has flags of its own in the common set
	out := flags.String("out", "../..", "folder below which the stems' folders are")
	_ = flags.Parse(os.Args[1:]) // it exits on an error
	for _, s := range stems {
		for _, t := range tiers {
			if err := write(*out, s, t); err != nil {
				log.Fatalf("%s, %s: %v", s.name, t.name, err)
			}
		}
	}
}

// write makes the two files of a stem and a tier; a stem that has nothing for
// the tier has no files.
func write(folder string, s stem, t tier) error {
	g := newGen(t)
	s.make(g)
	if g.functions == 0 {
		return nil
	}
	text, stubs, err := g.print(path.Base(s.folder))
	if err != nil {
		return err
	}
	base := filepath.Join(folder, s.folder, s.name+"_"+t.name+"_amd64")
	if err := os.MkdirAll(filepath.Dir(base), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(base+".s", text, 0o666); err != nil {
		return err
	}
	return os.WriteFile(base+".go", stubs, 0o666)
}
