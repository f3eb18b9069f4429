/*
 * Collective operations on the memory of devices: part of volley.h, which includes it.
 *
 * A vector is elements in a device's memory, or in the host's, that operations read and write in place. The vectors of an operation are on one
 * device, or on the host; all ranks' devices are of one kind. The operations are those of volley_comm.h, with the same rules; the types of from and
 * to are the vectors' own. Vectors pass through pinned memory of the host, unless NCCL carries them: see volley_comm_use_nccl.
 */
#ifndef VOLLEY_VECTOR_H
#define VOLLEY_VECTOR_H

/* A vector of count elements, which are undefined. */
VOLLEY_API int32_t volley_vector_new(const volley_device* device, const char* type, int64_t count, volley_vector** out);
/* The memory of a column of numbers without nulls, to be read. */
VOLLEY_API int32_t volley_vector_from_column(const volley_column* column, volley_vector** out);
/* The memory of a contiguous tensor of any shape: to be read and written, unless the tensor is read only. */
VOLLEY_API int32_t volley_vector_from_dlpack(struct DLManagedTensor* tensor, volley_vector** out);
VOLLEY_API int32_t volley_vector_from_dlpack_versioned(struct DLManagedTensorVersioned* tensor, volley_vector** out);
/* A column of the same memory: nothing may be written to the vector afterwards. There are no columns of bfloat16. */
VOLLEY_API int32_t volley_vector_to_column(const volley_vector* vector, volley_column** out);
VOLLEY_API int32_t volley_vector_length(const volley_vector* vector, int64_t* out);
VOLLEY_API int32_t volley_vector_free(volley_vector* vector);

VOLLEY_API int32_t volley_vector_all_reduce(const volley_comm* comm, const volley_vector* from, volley_vector* to, const char* op,
                                            volley_token* token);
/* Starts one. Until it is done the group is its own: other operations wait for it with volley_request_wait. */
VOLLEY_API int32_t volley_vector_start_all_reduce(const volley_comm* comm, const volley_vector* from, volley_vector* to, const char* op,
                                                  volley_request** out);
/* to is the root's alone. */
VOLLEY_API int32_t volley_vector_reduce(const volley_comm* comm, const volley_vector* from, volley_vector* to, const char* op, int64_t root,
                                        volley_token* token);
/* from is the root's alone. */
VOLLEY_API int32_t volley_vector_broadcast(const volley_comm* comm, const volley_vector* from, volley_vector* to, int64_t root,
                                           volley_token* token);
/* counts, if not NULL, are the elements of each rank, here and below. */
VOLLEY_API int32_t volley_vector_all_gather(const volley_comm* comm, const volley_vector* from, volley_vector* to, const int64_t* counts,
                                            volley_token* token);
VOLLEY_API int32_t volley_vector_gather(const volley_comm* comm, const volley_vector* from, volley_vector* to, const int64_t* counts, int64_t root,
                                        volley_token* token);
VOLLEY_API int32_t volley_vector_reduce_scatter(const volley_comm* comm, const volley_vector* from, volley_vector* to, const int64_t* counts,
                                                const char* op, volley_token* token);
VOLLEY_API int32_t volley_vector_scatter(const volley_comm* comm, const volley_vector* from, volley_vector* to, const int64_t* counts, int64_t root,
                                         volley_token* token);
/* sends[r] elements go to rank r and receives[r] come from it; both NULL: all are equal. */
VOLLEY_API int32_t volley_vector_all_to_all(const volley_comm* comm, const volley_vector* from, volley_vector* to, const int64_t* sends,
                                            const int64_t* receives, volley_token* token);
VOLLEY_API int32_t volley_vector_send(const volley_comm* comm, const volley_vector* from, int64_t rank, volley_token* token);
VOLLEY_API int32_t volley_vector_receive(const volley_comm* comm, volley_vector* to, int64_t rank, volley_token* token);

/* Where a reduction of a device's vectors is computed, and what carries it. */
VOLLEY_API int32_t volley_vector_explain(const volley_comm* comm, const volley_device* device, const char* type, const char* op, char** out);
/*
 * Has NVIDIA's NCCL carry the vectors of a device from now on, from GPU to GPU. All ranks call it, each with a GPU of its own and the same version of
 * libnccl.so.2 (VOLLEY_NCCL_LIBRARY names another file). Where one has not, all get VOLLEY_UNAVAILABLE, whose message says which rank lacks
 * what, and vectors go by the host as before. Groups that are made of this one ask for themselves.
 */
VOLLEY_API int32_t volley_comm_use_nccl(const volley_comm* comm, const volley_device* device, volley_token* token);

#endif /* VOLLEY_VECTOR_H */
