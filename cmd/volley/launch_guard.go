package main

import "github.com/spf13/cobra"

// guardName is the command that launch starts of itself.
const guardName = "launch-guard"

// newGuard is the process that ends the ranks of a launch that was killed.
func newGuard() *cobra.Command {
	return &cobra.Command{
		Use:    guardName,
		Short:  "End the ranks of a launch that was killed; launch starts it",
		Hidden: true,
		Args:   cobra.NoArgs,
		Run:    func(cmd *cobra.Command, _ []string) { watchOver(cmd.InOrStdin()) },
	}
}
