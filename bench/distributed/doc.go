// Package distributed is the suite of operators on tables whose rows are on ranks: a join, group-by, sort, distinct and shuffle on processes of this machine, beside
// our local operators and other engines.
package distributed
