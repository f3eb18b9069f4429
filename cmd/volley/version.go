package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

func newVersion(d deps) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of volley and what it runs on",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m := d.machine()
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(m)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "volley %s, %s, %s, %s\n", m.Version, m.Go, m.OS, m.Arch)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object that describes the machine, too")
	return cmd
}
