// Package flights is the suite of the main job: an analytic query and a least
// squares fit over real flights, run on every device found and by the plain
// reference loops, with the answers checked and the steps timed.
//
// The query keeps flights of at least 500 miles, joins the airport that each
// left from, and ranks the states by mean delay. The fit explains the delay of
// every flight by distance, hour of day and place of departure, through the
// normal equations: one product of a 6×n matrix with its transpose holds XᵀX,
// Xᵀy and yᵀy, and a Cholesky factorisation solves them. At last the terms of
// the fit are drawn in a shuffled order, as batches that a network would be
// trained with: every row once.
package flights
