package main

import (
	"encoding/json"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/bench/report"
)

func newDevices(d deps) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the devices found, and why others cannot be used",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := d.devices(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				e := json.NewEncoder(cmd.OutOrStdout())
				for _, f := range found {
					if err := e.Encode(f); err != nil {
						return err
					}
				}
				return nil
			}
			g := devicesGrid(found)
			return g.WriteText(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a device")
	return cmd
}

func devicesGrid(found []deviceInfo) report.Grid {
	g := report.Grid{Header: []string{"device", "description", "threads", "memory", "state"}, Left: []bool{true, true, false, false, true}}
	for _, f := range found {
		threads, memory, state := "", "", "ready"
		if f.Threads > 0 {
			threads = strconv.Itoa(f.Threads)
		}
		if f.MemoryBytes > 0 {
			memory = report.Bytes(f.MemoryBytes)
		}
		if f.Unavailable != "" {
			state = "unavailable: " + f.Unavailable
		}
		g.Add(f.Device, f.Description, threads, memory, state)
	}
	return g
}
