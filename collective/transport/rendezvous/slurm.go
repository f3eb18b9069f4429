package rendezvous

import (
	"fmt"
	"strconv"
	"strings"
)

// firstHost is the first of a list of hosts as Slurm writes it:
// "node[003-010,012],other" begins with node003.
func firstHost(list string) (string, error) {
	var host strings.Builder
	for rest := list; rest != ""; {
		i := strings.IndexAny(rest, "[],")
		if i < 0 || rest[i] == ',' {
			if i < 0 {
				i = len(rest)
			}
			host.WriteString(rest[:i])
			break
		}
		if rest[i] == ']' {
			return "", fmt.Errorf("%q is no list of hosts", list)
		}
		host.WriteString(rest[:i])
		inner, after, closed := strings.Cut(rest[i+1:], "]")
		first := inner
		if j := strings.IndexAny(inner, ",-"); j >= 0 {
			first = inner[:j]
		}
		if _, err := strconv.ParseUint(first, 10, 63); !closed || err != nil {
			return "", fmt.Errorf("%q is no list of hosts", list)
		}
		host.WriteString(first)
		rest = after
	}
	if host.Len() == 0 {
		return "", fmt.Errorf("%q is no list of hosts", list)
	}
	return host.String(), nil
}

// tasksOf is the tasks of a machine, of a list as Slurm writes it: "2(x3),1" is 2, 2, 2, 1.
func tasksOf(list string, node int) (int, error) {
	left := node
	for _, word := range strings.Split(list, ",") {
		count, times, repeated := strings.Cut(word, "(x")
		n, err := strconv.ParseUint(count, 10, 24)
		of := uint64(1)
		if err == nil && repeated {
			of, err = strconv.ParseUint(strings.TrimSuffix(times, ")"), 10, 24)
		}
		if err != nil || repeated && !strings.HasSuffix(times, ")") {
			return 0, fmt.Errorf("%q is no list of tasks", list)
		}
		if left -= int(of); left < 0 {
			return int(n), nil
		}
	}
	return 0, fmt.Errorf("%q has no machine %d", list, node)
}

// slurmID names a step of a job.
func slurmID(getenv func(string) string) string {
	job, step := getenv("SLURM_JOB_ID"), getenv("SLURM_STEP_ID")
	if job == "" {
		return ""
	}
	return job + "." + step
}

// slurmPort is a port that the steps of different jobs rarely share.
func slurmPort(getenv func(string) string) (string, error) {
	total := uint64(0)
	for _, name := range []string{"SLURM_JOB_ID", "SLURM_STEP_ID"} {
		text := getenv(name)
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return "", fmt.Errorf("%s is %q, not a number: set VOLLEY_PORT", name, text)
		}
		total = total*7 + n
	}
	return strconv.FormatUint(20000+total%10000, 10), nil
}
