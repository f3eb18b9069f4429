package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// gpus are the architectures that the PTX is assembled for: Turing, Ampere,
// Hopper, Blackwell of the data centre and of the desk.
var gpus = []string{"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}

// What ptxas -v says of a kernel.
var (
	compiling = regexp.MustCompile(`Compiling entry function '(\w+)' for`)
	spills    = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	used      = regexp.MustCompile(`Used (\d+) registers`)
)

// usage is what kernels need, by name and then by place in gpus.
type usage map[string][]int

// assemble runs ptxas on every module for every GPU and prints the registers of
// each kernel.
func assemble(ctx context.Context, ptxas, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.gz"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s holds no PTX: run go generate ./kernels/cuda", folder)
	}
	scratch, err := os.MkdirTemp("", "ptxgen")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	var (
		mu        sync.Mutex
		wg        sync.WaitGroup
		faults    []error
		registers = usage{}
		work      = make(chan string)
	)
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for file := range work {
				got, err := assembleOne(ctx, ptxas, file, scratch)
				mu.Lock()
				if err != nil {
					faults = append(faults, err)
				}
				for name, r := range got {
					registers[name] = r
				}
				mu.Unlock()
			}
		}()
	}
	for _, f := range files {
		work <- f
	}
	close(work)
	wg.Wait()
	fmt.Printf("registers: %-40s %s\n", "kernel", strings.Join(gpus, " "))
	var names []string
	for name := range registers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Printf("           %-40s", name)
		for i, n := range registers[name] {
			fmt.Printf(" %*d", len(gpus[i]), n)
		}
		fmt.Println()
	}
	fmt.Printf("%d kernels of %d modules\n", len(names), len(files))
	return errors.Join(faults...)
}

// assembleOne assembles a module for all GPUs.
func assembleOne(ctx context.Context, ptxas, file, scratch string) (usage, error) {
	ptx, err := unpack(file)
	if err != nil {
		return nil, err
	}
	module := strings.TrimSuffix(filepath.Base(file), ".ptx.gz")
	source := filepath.Join(scratch, module+".ptx")
	if err := os.WriteFile(source, []byte(ptx), 0o600); err != nil {
		return nil, err
	}
	got := usage{}
	var faults []error
	for i, gpu := range gpus {
		out, err := exec.CommandContext(ctx, ptxas, "-v", "-arch="+gpu, source, "-o", filepath.Join(scratch, module+".cubin")).CombinedOutput()
		if err != nil {
			faults = append(faults, fmt.Errorf("module %s for %s: %w\n%s", module, gpu, err, out))
			continue
		}
		faults = append(faults, got.read(module, i, string(out)))
	}
	return got, errors.Join(faults...)
}

// read takes in what ptxas -v said for gpus[i]; spills are errors.
func (u usage) read(module string, i int, out string) error {
	var faults []error
	kernel := ""
	found := 0
	for _, line := range strings.Split(out, "\n") {
		if m := compiling.FindStringSubmatch(line); m != nil {
			kernel = m[1]
		}
		if m := spills.FindStringSubmatch(line); m != nil && kernel != "" && (m[2] != "0" || m[3] != "0") {
			faults = append(faults, fmt.Errorf("module %s: kernel %s spills on %s: %s", module, kernel, gpus[i], strings.TrimSpace(line)))
		}
		if m := used.FindStringSubmatch(line); m != nil && kernel != "" {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				return err
			}
			if u[kernel] == nil {
				u[kernel] = make([]int, len(gpus))
			}
			u[kernel][i] = n
			kernel = ""
			found++
		}
	}
	if found == 0 {
		faults = append(faults, fmt.Errorf("module %s: ptxas -v tells of no kernel for %s:\n%s", module, gpus[i], out))
	}
	return errors.Join(faults...)
}
