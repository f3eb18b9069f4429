/*
 * Tables on ranks: part of volley.h, which includes it.
 *
 * A distributed table is this rank's part of a table and the group whose ranks have the other parts: the rows of rank 0, then those of rank 1, and so
 * on. All ranks of the group make the same calls in the same order, one at a time. They agree on the call, its arguments and the columns before rows move:
 * where they do not, and where one of them fails, all get the same error, whose message names the ranks, and the group goes on. A
 * rank without rows takes part; its columns, and columns of type null, take the types of the others. An argument that is refused on one rank (a text, a NULL, an
 * option, a token) is such an error too, unless no table or group among the arguments says who the others are.
 */
#ifndef VOLLEY_DISTRIBUTED_H
#define VOLLEY_DISTRIBUTED_H

/* A table of every rank's part. */
VOLLEY_API int32_t volley_distributed_new(const volley_comm* comm, const volley_table* table, volley_token* token, volley_distributed** out);
/* The root's table over all ranks, as many rows for each, on this rank's device; NULL is the best one. Other ranks give NULL for table. */
VOLLEY_API int32_t volley_distributed_scatter(const volley_comm* comm, const volley_device* device, const volley_table* table, int64_t root,
                                              volley_token* token, volley_distributed** out);
/* The root's table on every rank, as volley_distributed_replicate gives it. */
VOLLEY_API int32_t volley_distributed_broadcast(const volley_comm* comm, const volley_device* device, const volley_table* table, int64_t root,
                                                volley_token* token, volley_distributed** out);
/* This rank's part. */
VOLLEY_API int32_t volley_distributed_local(const volley_distributed* table, volley_table** out);
/* The rows of all ranks; of a replicated table those of one. */
VOLLEY_API int32_t volley_distributed_rows(const volley_distributed* table, int64_t* out);
/* The rows of each rank, of which up to capacity are put into counts. */
VOLLEY_API int32_t volley_distributed_counts(const volley_distributed* table, int64_t* counts, int64_t capacity, int64_t* out_ranks);
/* How rows are spread, as far as is known: "unknown", "hash", "range" or "replicated", and by how many keys. */
VOLLEY_API int32_t volley_distributed_partitioning(const volley_distributed* table, char** out_scheme, int64_t* out_keys);
/* The column that is key i of those. */
VOLLEY_API int32_t volley_distributed_key(const volley_distributed* table, int64_t i, char** out);
/* 1 if rows that are equal in these columns are certainly on one rank. */
VOLLEY_API int32_t volley_distributed_together(const volley_distributed* table, const char* const* columns, int64_t count, int64_t* out);
/* Rows of equal keys on one rank; a table that is spread so stays as it is. */
VOLLEY_API int32_t volley_distributed_shuffle(const volley_distributed* table, const char* const* keys, int64_t count, volley_token* token,
                                              volley_distributed** out);
/* All rows of a rank before those of the next one by the keys, as many on each; each rank's come in order from each of the ranks that they were on. */
VOLLEY_API int32_t volley_distributed_shuffle_range(const volley_distributed* table, const volley_order* keys, int64_t count, volley_token* token,
                                                    volley_distributed** out);
/* Row i of all to rank i modulo their number. */
VOLLEY_API int32_t volley_distributed_shuffle_round_robin(const volley_distributed* table, volley_token* token, volley_distributed** out);
/* As many "rows", or about as many "bytes", on each rank, in the order that they are in; NULL is rows. */
VOLLEY_API int32_t volley_distributed_rebalance(const volley_distributed* table, const char* measure, volley_token* token, volley_distributed** out);
/* counts[r] rows on rank r, in the order that they are in; all ranks give the same. */
VOLLEY_API int32_t volley_distributed_repartition(const volley_distributed* table, const int64_t* counts, int64_t ranks, volley_token* token,
                                                  volley_distributed** out);
/* All rows on every rank. Other calls take each row once. */
VOLLEY_API int32_t volley_distributed_replicate(const volley_distributed* table, volley_token* token, volley_distributed** out);
/* All rows as a table of the root; NULL on the other ranks. */
VOLLEY_API int32_t volley_distributed_gather(const volley_distributed* table, int64_t root, volley_token* token, volley_table** out);
/* Joins as volley_query_join does, with rows in left and then right order on each rank. */
VOLLEY_API int32_t volley_distributed_join(const volley_distributed* left, const volley_distributed* right, const char* kind,
                                           const char* const* left_keys, const char* const* right_keys, int64_t count,
                                           const volley_join_options* options, volley_token* token, volley_distributed** out);
VOLLEY_API int32_t volley_distributed_free(volley_distributed* table);

/* Gives rank r parts[r], and this one what all have for it, by rank. There is a part for each rank. */
VOLLEY_API int32_t volley_comm_exchange(const volley_comm* comm, const volley_table* const* parts, int64_t count, volley_token* token,
                                        volley_table** out);

/* ---- operators: as those of queries, over the rows of all ranks ---- */

/* A row for each group of equal keys, in the order of first appearance; with any_order on the ranks of their keys. Without keys one row on every rank. */
VOLLEY_API int32_t volley_distributed_group_by(const volley_distributed* table, const volley_expr* const* keys, int64_t key_count,
                                               const volley_aggregate* aggregates, int64_t aggregate_count, const volley_group_options* options,
                                               volley_token* token, volley_distributed** out);
/* The statistics of volley_query_describe, on every rank. */
VOLLEY_API int32_t volley_distributed_describe(const volley_distributed* table, volley_token* token, volley_distributed** out);
/* Rank r has rows that come before those of rank r + 1; stable, and as many on each rank within 10 percent. */
VOLLEY_API int32_t volley_distributed_sort(const volley_distributed* table, const volley_order* keys, int64_t count, volley_token* token,
                                           volley_distributed** out);
/* The first k rows in that order. */
VOLLEY_API int32_t volley_distributed_top_k(const volley_distributed* table, int64_t k, const volley_order* keys, int64_t count,
                                            volley_token* token, volley_distributed** out);
/* The first of rows that are equal in these columns, in all if none is named; they stay on their ranks. */
VOLLEY_API int32_t volley_distributed_distinct(const volley_distributed* table, const char* const* columns, int64_t count, volley_token* token,
                                               volley_distributed** out);
/* On each rank the rows of the table and then those of the others. */
VOLLEY_API int32_t volley_distributed_union(const volley_distributed* table, const volley_distributed* const* others, int64_t count,
                                            volley_token* token, volley_distributed** out);
/* The distinct rows that both have, and those that only left has; they stay on their ranks. */
VOLLEY_API int32_t volley_distributed_intersect(const volley_distributed* left, const volley_distributed* right, volley_token* token,
                                                volley_distributed** out);
VOLLEY_API int32_t volley_distributed_except(const volley_distributed* left, const volley_distributed* right, volley_token* token,
                                             volley_distributed** out);
/* length rows from an offset, counted over all ranks; they stay on their ranks. */
VOLLEY_API int32_t volley_distributed_slice(const volley_distributed* table, int64_t offset, int64_t length, volley_token* token,
                                            volley_distributed** out);
/* As many rows on each rank as on every other, without the last ones that do not go round: for loaders, which then take as many steps. */
VOLLEY_API int32_t volley_distributed_even(const volley_distributed* table, volley_token* token, volley_distributed** out);
/* A column of int64 behind the others: first for the first row of all ranks, and one more for each. */
VOLLEY_API int32_t volley_distributed_row_number(const volley_distributed* table, const char* name, int64_t first, volley_token* token,
                                                 volley_distributed** out);
VOLLEY_API int32_t volley_distributed_filter(const volley_distributed* table, const volley_expr* condition, volley_token* token,
                                             volley_distributed** out);
VOLLEY_API int32_t volley_distributed_select(const volley_distributed* table, const volley_expr* const* items, int64_t count, volley_token* token,
                                             volley_distributed** out);
/* names[i] is NULL, or names NULL, where an expression has its name already. */
VOLLEY_API int32_t volley_distributed_with_columns(const volley_distributed* table, const char* const* names, const volley_expr* const* values,
                                                   int64_t count, volley_token* token, volley_distributed** out);
VOLLEY_API int32_t volley_distributed_rename(const volley_distributed* table, const char* const* from, const char* const* to, int64_t count,
                                             volley_token* token, volley_distributed** out);
VOLLEY_API int32_t volley_distributed_drop(const volley_distributed* table, const char* const* names, int64_t count, volley_token* token,
                                           volley_distributed** out);
/* 1 if both have the same columns and the same rows, in the same order unless any_order is set, however they are spread over the ranks. */
VOLLEY_API int32_t volley_distributed_equal(const volley_distributed* table, const volley_distributed* other, int64_t any_order,
                                            volley_token* token, int64_t* out);
/* Files or folders, of which each rank reads a part of about as many bytes, to the host's memory; rows come in the order of the files. format is
 * parquet, arrow or csv; NULL is that of the first file's extension. No columns are all of them. */
VOLLEY_API int32_t volley_distributed_scan(const volley_comm* comm, const char* format, const char* const* paths, int64_t path_count,
                                           const char* const* columns, int64_t column_count, volley_token* token, volley_distributed** out);
/* The same of CSV files. */
VOLLEY_API int32_t volley_distributed_scan_csv(const volley_comm* comm, const char* const* paths, int64_t path_count, const volley_csv_options* options,
                                               const char* const* columns, int64_t column_count, volley_token* token, volley_distributed** out);
/* Writes a new folder, which all ranks reach by this path: a file of each rank that has rows, of the format that the options say: parquet,
 * which is that of NULL too, csv or arrow. It is not there before all is written. */
VOLLEY_API int32_t volley_distributed_write(const volley_distributed* table, const char* folder, const volley_write_options* options,
                                            volley_token* token);
/* For a rank that cannot make a call which the others make, such as a program that refuses its own input: they get the reason as the error that all have, and do
 * not wait. operation is the call's name in such errors: "Join", "GroupBy", "Scan". The group is comm, or if that is NULL the table's. It returns that error. */
VOLLEY_API int32_t volley_distributed_refuse(const volley_comm* comm, const volley_distributed* table, const char* operation, const char* why,
                                             volley_token* token);

#endif /* VOLLEY_DISTRIBUTED_H */
