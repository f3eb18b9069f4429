/*
 * Collective operations of the C interface: part of volley.h, which includes it.
 *
 * All ranks of a group make the same calls in the same order, with the same operation, type, counts and root. Vectors are of the caller's
 * memory, aligned as their type is; type is "int8" to "uint64", "float16", "bfloat16", "float32" or "float64", op is "sum", "prod", "min",
 * "max", "avg", or of integers "and", "or", "xor". Operations of one group run one after another, in the order of their calls. Vectors belong
 * to an operation until it has ended, also where a token has patience.
 *
 * A rank that dies, stops, leaves or makes another call ends the operation on all ranks that are left with VOLLEY_FAULT, whose message names
 * it; so does a token that is cancelled, with VOLLEY_CANCELED on its own rank. The group is then good for volley_comm_shrink alone.
 */
#ifndef VOLLEY_COMM_H
#define VOLLEY_COMM_H

/* How the ranks meet, and how they work; all ranks give the same but for rank. */
typedef struct volley_comm_options {
  uint64_t size;
  const char* address;     /* "tcp://host:port" of rank 0, or "file:///path"; NULL: what the environment says, as launchers set it */
  int64_t rank;            /* with address: this rank, from 0 */
  int64_t ranks;           /* with address: how many there are; 0: the environment says who */
  const char* transport;   /* "shm" or "tcp"; NULL is whichever fits; "nccl" is that and NCCL for the vectors of device; "mpi" is an MPI library's */
  const char* secret_file; /* of at least 16 random bytes that all ranks have: what goes over TCP is encrypted */
  int64_t deterministic;   /* floating-point sums are the same bit for bit for every algorithm and transport */
  int64_t checksum;        /* a CRC-32C with every message */
  int64_t heartbeat;       /* milliseconds between signs of life; 0 is 1,000 */
  int64_t deadline;        /* milliseconds of silence after which a rank is lost; 0 is 5,000 */
  int64_t timeout;         /* milliseconds that a living rank may be late; 0 is half an hour, negative for ever */
  int64_t chunk;           /* bytes of a pipeline's piece; 0 is 262,144 */
  const char* wire;        /* "float16" or "bfloat16": float32 sums are sent in half the bytes */
  const char* algorithms;  /* "ring", or by operation "all_reduce=ring,broadcast=tree": the algorithms to use; NULL lets costs decide */
  const char* device;      /* with transport "nccl": this rank's GPU; NULL is that of its number on its machine */
  int64_t join_timeout;    /* milliseconds that ranks may take to come, in volley_comm_init, _grow and _enter; 0 is timeout, negative for ever */
} volley_comm_options;

/* Joins the ranks. NULL options, or none of address, are those of a launcher: torchrun, mpirun, srun, volley launch; without one, one rank. */
VOLLEY_API int32_t volley_comm_init(const volley_comm_options* options, volley_token* token, volley_comm** out);
/*
 * Ends MPI, which a group over "mpi" started, after all groups over it were freed and before the program ends. It waits for all ranks of the job, for milliseconds
 * at most; where MPI was not started, or by the program itself, it does nothing.
 */
VOLLEY_API int32_t volley_comm_finalize(int64_t milliseconds, volley_token* token);
VOLLEY_API int32_t volley_comm_rank(const volley_comm* comm, int64_t* out);
VOLLEY_API int32_t volley_comm_size(const volley_comm* comm, int64_t* out);
/* What carries the messages: "inproc", "shm", "tcp", or "shm+tcp": shared memory within machines, TCP between them. */
VOLLEY_API int32_t volley_comm_transport(const volley_comm* comm, char** out);
/* A group of all ranks of one color, ordered by key and then by rank; NULL for a rank whose color is negative. */
VOLLEY_API int32_t volley_comm_split(const volley_comm* comm, int64_t color, int64_t key, volley_token* token, volley_comm** out);
/* A group of count of the ranks, numbered in the order given, which all of them give alike. Only these ranks call it. */
VOLLEY_API int32_t volley_comm_sub(const volley_comm* comm, const int64_t* ranks, int64_t count, volley_token* token, volley_comm** out);
/* The group of the ranks that survived a fault. */
VOLLEY_API int32_t volley_comm_shrink(const volley_comm* comm, volley_token* token, volley_comm** out);
/*
 * Admits others to the group, such as replacements after volley_comm_shrink. All its ranks call it with the number of ranks that there are to be; they
 * keep their numbers. Who is new calls volley_comm_enter with a number from the old size on. They meet at address, which rank 0 of the group can
 * listen on, over what the group was made for; NULL is where the group met at first. When somebody does not come in time there is no new
 * group and the old one goes on; else free the old one.
 */
VOLLEY_API int32_t volley_comm_grow(const volley_comm* comm, int64_t ranks, const char* address, volley_token* token, volley_comm** out);
/* Joins a group that grows, by the address, rank and ranks of the options, whose rest is as that of the others. */
VOLLEY_API int32_t volley_comm_enter(const volley_comm_options* options, volley_token* token, volley_comm** out);
/*
 * Which algorithm an operation ("all_reduce") of count elements would use and why, and what the others would cost, a line each. Of operations
 * with blocks count is that of all blocks together.
 */
VOLLEY_API int32_t volley_comm_explain(const volley_comm* comm, const char* op, int64_t count, const char* type, char** out);
/*
 * What ended the group's work: "lost", "left", "mismatch", "corrupt", "timeout", "canceled", or "" where nothing did; and the ranks to blame,
 * of which up to capacity are put into ranks.
 */
VOLLEY_API int32_t volley_comm_fault(const volley_comm* comm, int64_t* ranks, int64_t capacity, char** out_cause, int64_t* out_count);
/* Leaves the group. An operation that runs ends with an error, here and on the ranks that need this one. */
VOLLEY_API int32_t volley_comm_free(volley_comm* comm);

VOLLEY_API int32_t volley_comm_barrier(const volley_comm* comm, volley_token* token);
/* Combines count elements of all ranks, for each; from and to may be the same memory. */
VOLLEY_API int32_t volley_comm_all_reduce(const volley_comm* comm, const void* from, void* to, int64_t count, const char* type, const char* op,
                                          volley_token* token);
/* The same for the root alone, which gives to. */
VOLLEY_API int32_t volley_comm_reduce(const volley_comm* comm, const void* from, void* to, int64_t count, const char* type, const char* op,
                                      int64_t root, volley_token* token);
/* The root's from for all; other ranks give none. */
VOLLEY_API int32_t volley_comm_broadcast(const volley_comm* comm, const void* from, void* to, int64_t count, const char* type, int64_t root,
                                         volley_token* token);
/* Every rank's count elements, in the order of ranks. counts, if not NULL, are the elements of each rank, and count is this one's. */
VOLLEY_API int32_t volley_comm_all_gather(const volley_comm* comm, const void* from, int64_t count, void* to, const int64_t* counts,
                                          const char* type, volley_token* token);
/* The same for the root alone, which gives to. */
VOLLEY_API int32_t volley_comm_gather(const volley_comm* comm, const void* from, int64_t count, void* to, const int64_t* counts,
                                      const char* type, int64_t root, volley_token* token);
/* Combines all ranks' vectors of a block for each rank, and gives each its block of count elements; counts as in volley_comm_all_gather. */
VOLLEY_API int32_t volley_comm_reduce_scatter(const volley_comm* comm, const void* from, const int64_t* counts, void* to, int64_t count,
                                              const char* type, const char* op, volley_token* token);
/* Gives each rank its block of the root's from. */
VOLLEY_API int32_t volley_comm_scatter(const volley_comm* comm, const void* from, const int64_t* counts, void* to, int64_t count,
                                       const char* type, int64_t root, volley_token* token);
/* Sends a block of count elements to each rank and puts theirs in the order of ranks. */
VOLLEY_API int32_t volley_comm_all_to_all(const volley_comm* comm, const void* from, void* to, int64_t count, const char* type,
                                          volley_token* token);
/* The same with sends[r] elements for rank r and receives[r] from it. */
VOLLEY_API int32_t volley_comm_all_to_all_v(const volley_comm* comm, const void* from, const int64_t* sends, void* to, const int64_t* receives,
                                            const char* type, volley_token* token);
VOLLEY_API int32_t volley_comm_send(const volley_comm* comm, const void* from, int64_t count, const char* type, int64_t rank, volley_token* token);
VOLLEY_API int32_t volley_comm_receive(const volley_comm* comm, void* to, int64_t count, const char* type, int64_t rank, volley_token* token);

/* Operations that are started: they are done when volley_request_wait returns. Freeing a request leaves the operation to itself. */
VOLLEY_API int32_t volley_comm_start_all_reduce(const volley_comm* comm, const void* from, void* to, int64_t count, const char* type,
                                                const char* op, volley_request** out);
VOLLEY_API int32_t volley_comm_start_reduce(const volley_comm* comm, const void* from, void* to, int64_t count, const char* type,
                                            const char* op, int64_t root, volley_request** out);
VOLLEY_API int32_t volley_comm_start_broadcast(const volley_comm* comm, const void* from, void* to, int64_t count, const char* type,
                                               int64_t root, volley_request** out);
VOLLEY_API int32_t volley_comm_start_all_gather(const volley_comm* comm, const void* from, int64_t count, void* to, const char* type,
                                                volley_request** out);
VOLLEY_API int32_t volley_comm_start_reduce_scatter(const volley_comm* comm, const void* from, void* to, int64_t count, const char* type,
                                                    const char* op, volley_request** out);
VOLLEY_API int32_t volley_comm_start_all_to_all(const volley_comm* comm, const void* from, void* to, int64_t count, const char* type,
                                                volley_request** out);
/* Waits for the operation, or until the token is cancelled, which leaves the operation as it is. */
VOLLEY_API int32_t volley_request_wait(const volley_request* request, volley_token* token);
/* 1 if the operation has ended. */
VOLLEY_API int32_t volley_request_done(const volley_request* request, int64_t* out);
VOLLEY_API int32_t volley_request_free(volley_request* request);

/*
 * Makes one operation of many small reductions, which are given one by one; it has a group of its own. All ranks call it, and give the same
 * reductions in the same order, as fast as they like. An operation starts with bytes of vectors (0 is 262,144), or when the first has waited for
 * delay milliseconds (0 is 1), or when somebody waits for all.
 */
VOLLEY_API int32_t volley_fuser_new(const volley_comm* comm, int64_t bytes, int64_t delay, volley_token* token, volley_fuser** out);
/* Gives a reduction for all ranks. The vectors belong to it until volley_request_wait or volley_fuser_wait has returned. */
VOLLEY_API int32_t volley_fuser_all_reduce(const volley_fuser* fuser, const void* from, void* to, int64_t count, const char* type, const char* op,
                                           volley_request** out);
/* Waits for all that was given, without the delay, or until the token is cancelled, which leaves them as they are. */
VOLLEY_API int32_t volley_fuser_wait(const volley_fuser* fuser, volley_token* token);
/* Waits for all that was given, on all ranks, and takes nothing more. A token that is cancelled ends what is not done. */
VOLLEY_API int32_t volley_fuser_close(const volley_fuser* fuser, volley_token* token);
/* What ended the fuser's own group, as in volley_comm_fault. */
VOLLEY_API int32_t volley_fuser_fault(const volley_fuser* fuser, int64_t* ranks, int64_t capacity, char** out_cause, int64_t* out_count);
/* Ends what is not done. */
VOLLEY_API int32_t volley_fuser_free(volley_fuser* fuser);

#endif /* VOLLEY_COMM_H */
