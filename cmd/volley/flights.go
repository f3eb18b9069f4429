package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

// defaultFlights is where the repository keeps its flights.
const defaultFlights = "testdata/flights/flights-1m.parquet"

func newFlights(d deps, f *benchFlags) *cobra.Command {
	var data, airports string
	cmd := &cobra.Command{
		Use:   "flights",
		Short: "An analytic query and a regression over real flights",
		Long: `flights joins flights with the airports they leave from, ranks states by mean
delay, fits the delay to distance, hour and place, and draws the terms of the fit
in a shuffled order, as training batches. The answers are checked.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if airports == "" {
				airports = filepath.Join(filepath.Dir(data), "airports.csv")
			}
			return bench(cmd, d, f, "flights", func(ctx context.Context, o benchOptions, to report.Sink, p progress.Progress) error {
				return d.flights(ctx, flightsOptions{o, data, airports}, to, p)
			})
		},
	}
	cmd.Flags().StringVar(&data, "data", defaultFlights, "Parquet `file` of flights")
	cmd.Flags().StringVar(&airports, "airports", "", "CSV `file` of airports; airports.csv beside the flights when not given")
	return cmd
}
