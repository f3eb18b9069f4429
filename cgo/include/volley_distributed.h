/*
 * Tables on ranks: part of volley.h, which includes it.
 *
 * A distributed table is this rank's part of a table and the group whose ranks have the other parts: the rows of rank 0, then those of rank 1, and so
 * on. All ranks of the group make the same calls in the same order, one at a time. They agree on the call, its arguments and the columns before rows move:
 * where they do not, and where one of them fails, all get the same error, whose message names the ranks, and the group goes on. A
 * rank without rows takes part; its columns, and columns of type null, take the types of the others.
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

#endif /* VOLLEY_DISTRIBUTED_H */
