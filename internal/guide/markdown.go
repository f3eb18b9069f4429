package main

import (
	"fmt"
	"strings"
)

// block is a fenced block of a page.
type block struct {
	language string
	code     string
	line     int    // of the page, on which the code begins
	output   string // what the page says that it prints
	prints   bool   // whether the page says so
}

// blocksOf reads the fenced blocks of a page. A block without a language right after "It prints:" is what the block before it prints, and
// the one before that too where it is the same sample in another language. One that follows no block, or is not closed, is an error.
func blocksOf(page, text string) ([]block, error) {
	var blocks []block
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	announced := false
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if !strings.HasPrefix(line, "```") {
			if strings.TrimSpace(line) != "" {
				announced = strings.TrimSpace(line) == "It prints:"
			}
			continue
		}
		b := block{language: strings.TrimSpace(line[3:]), line: i + 2}
		for i++; i < len(lines) && lines[i] != "```"; i++ {
			b.code += lines[i] + "\n"
		}
		if i == len(lines) {
			return nil, fmt.Errorf("%s:%d: the block is not closed", page, b.line)
		}
		if !announced {
			blocks = append(blocks, b)
			continue
		}
		announced = false
		if len(blocks) == 0 || b.language != "" {
			return nil, fmt.Errorf("%s:%d: what is printed follows a sample, and has no language", page, b.line)
		}
		last := len(blocks) - 1
		blocks[last].output, blocks[last].prints = b.code, true
		if last > 0 && !blocks[last-1].prints && blocks[last-1].language != blocks[last].language {
			blocks[last-1].output, blocks[last-1].prints = b.code, true
		}
	}
	return blocks, nil
}
