package collective

import (
	"errors"
	"fmt"
	"strings"
)

// command is a line to the ranks of a world, which all answer it with one line.
// Workers in C, Python and Go take it apart, so it is words and numbers:
//
//	check OPERATION INPLACE COUNT 0       → ok WRONG: elements that are not the expected ones
//	time OPERATION INPLACE COUNT TIMES    → ok SECONDS: of all the times together
//
// or the answer is "lacks WHY" where the engine has no such operation, and "error
// WHAT". The first line of a rank is "hello RANK VERSION".
type command struct {
	do      string
	op      *operation
	inPlace bool
	count   int64
	times   int
}

func (c command) String() string {
	place := 0
	if c.inPlace {
		place = 1
	}
	return fmt.Sprintf("%s %s %d %d %d", c.do, c.op.name, place, c.count, c.times)
}

// parseCommand is String's reverse.
func parseCommand(line string) (command, error) {
	var c command
	var name string
	var place int
	if _, err := fmt.Sscanf(line, "%s %s %d %d %d", &c.do, &name, &place, &c.count, &c.times); err != nil {
		return c, fmt.Errorf("collective: command %q: %w", line, err)
	}
	op, err := operationNamed(name)
	if err != nil {
		return c, err
	}
	if c.do != "check" && c.do != "time" || c.count < 1 {
		return c, fmt.Errorf("collective: command %q", line)
	}
	c.op, c.inPlace = op, place != 0
	return c, nil
}

// errLacks is wrapped by the answer of an engine that has no such operation.
var errLacks = errors.New("not there")

// parseAnswer is the number of an answer.
func parseAnswer(line string) (float64, error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch word {
	case "ok":
		var v float64
		if _, err := fmt.Sscan(rest, &v); err != nil {
			return 0, fmt.Errorf("collective: answer %q: %w", line, err)
		}
		return v, nil
	case "lacks":
		return 0, fmt.Errorf("%w: %s", errLacks, rest)
	}
	return 0, fmt.Errorf("collective: answer %q", strings.TrimSpace(line))
}
