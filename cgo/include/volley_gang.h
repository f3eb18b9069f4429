/*
 * Gangs of the C interface: part of volley.h, which includes it.
 *
 * A gang is some workers that are started together, processes of a program or those that an engine starts, and their start. Each has a place: the start's rank
 * is -1, those of the workers are 0 and more. A gang is there whole or not at all, and restarts whole, under the next generation.
 *
 * A worker that dies, or is silent for a lease, ends what needs it with VOLLEY_FAULT, and volley_gang_fault names it; all the rest goes on. A worker of
 * an older generation is refused with VOLLEY_UNAVAILABLE of the kind "stale", a reference of one too.
 *
 * Values are bytes with the name of their encoding, "bytes" for those that are nothing else, or tables. A reference is a text that means the same to all in the
 * gang; its value stays with its holder. Bytes are 4 GiB at most; those that are handed out are freed with volley_string_free.
 */
#ifndef VOLLEY_GANG_H
#define VOLLEY_GANG_H

typedef struct volley_slots volley_slots; /* places that the gangs of a process compete for */

typedef struct volley_gang_options {
  uint64_t size;
  int64_t workers;
  const char* host;     /* where the start listens: NULL is 127.0.0.1, "*" the first address that is not loopback. Beyond this machine all is encrypted */
  int64_t lease;        /* milliseconds that a worker may be silent; 0 is 10,000 */
  int64_t join_timeout; /* milliseconds that workers may take to come; 0 is 120,000 */
  int64_t grace;        /* milliseconds that volley_gang_stop waits for workers to end before it kills them; 0 is 5,000 */
  int64_t generation;   /* the first one's number; 0 is 1 */
  const char* folder;   /* of the files of tables that members on one machine share; NULL is shared memory */
  const volley_slots* slots; /* has a place for each worker while the gang is there: starting waits until all are free; NULL is no such limit */
} volley_gang_options;

/*
 * So many places that the gangs of this process compete for. A gang has all that it needs or none, in the order in which they came, so that two never wait for
 * each other's. Gangs keep the places for themselves: freeing is right at any time.
 */
VOLLEY_API int32_t volley_slots_new(int64_t count, volley_slots** out);
VOLLEY_API int32_t volley_slots_free(volley_slots* slots);

/*
 * Starts a program with its arguments as each of the workers, and returns when all have entered. A count of 0 starts none: somebody else does, who hands each
 * its volley_gang_invitation as VOLLEY_GANG, and volley_gang_ready waits for them.
 */
VOLLEY_API int32_t volley_gang_start(const char* const* command, int64_t count, const volley_gang_options* options, volley_token* token, volley_gang** out);
VOLLEY_API int32_t volley_gang_invitation(const volley_gang* gang, int64_t rank, char** out);
VOLLEY_API int32_t volley_gang_ready(const volley_gang* gang, volley_token* token);
/* Kills all workers and starts them anew, under the next generation. */
VOLLEY_API int32_t volley_gang_restart(const volley_gang* gang, volley_token* token);
/* Tells the workers that it is over, and waits for their ends. */
VOLLEY_API int32_t volley_gang_stop(const volley_gang* gang, volley_token* token);
/* Has all workers run what a name means to them, with one argument, and hands out a reference to each one's result, a line each. */
VOLLEY_API int32_t volley_gang_run(const volley_gang* gang, const char* name, const char* codec, const void* data, int64_t count, volley_token* token,
                                   char** out);

/* Takes a worker's place: that of the invitation, or NULL for the environment's VOLLEY_GANG. Returns when all have come. */
VOLLEY_API int32_t volley_gang_enter(const char* invitation, volley_token* token, volley_gang** out);
/* Waits for the next call of the start, and hands out its number and its argument. */
VOLLEY_API int32_t volley_gang_next(const volley_gang* gang, volley_token* token, int64_t* out, char** out_name, char** out_codec, char** out_data,
                                    int64_t* out_count);
/* Answers the call of a number with a reference to its result, or, where that is NULL, with an error. */
VOLLEY_API int32_t volley_gang_answer(const volley_gang* gang, int64_t call, const char* ref, const char* error);
/* Answers a call with an error that came of a fault: its cause, and the count ranks to blame. */
VOLLEY_API int32_t volley_gang_answer_fault(const volley_gang* gang, int64_t call, const char* error, const char* cause, const int64_t* ranks,
                                            int64_t count);
/* Waits until the place has ended: the gang was stopped, or its start has gone. */
VOLLEY_API int32_t volley_gang_wait(const volley_gang* gang, volley_token* token);

VOLLEY_API int32_t volley_gang_rank(const volley_gang* gang, int64_t* out);
VOLLEY_API int32_t volley_gang_size(const volley_gang* gang, int64_t* out);
VOLLEY_API int32_t volley_gang_generation(const volley_gang* gang, int64_t* out);
/* A worker's group of all workers, which they make together; freeing it leaves it open for the next that asks. */
VOLLEY_API int32_t volley_gang_comm(const volley_gang* gang, volley_token* token, volley_comm** out);
/* A group of some workers, who alone call this with the same ranks and an id that no other group has. It sends nothing and waits for nobody. */
VOLLEY_API int32_t volley_gang_group(const volley_gang* gang, const char* id, const int64_t* ranks, int64_t count, volley_token* token, volley_comm** out);
/* A message with a tag. Sending does not wait for the receiver. */
VOLLEY_API int32_t volley_gang_send(const volley_gang* gang, int64_t rank, int64_t tag, const void* data, int64_t count, volley_token* token);
VOLLEY_API int32_t volley_gang_receive(const volley_gang* gang, int64_t rank, int64_t tag, volley_token* token, char** out_data, int64_t* out_count);
/* Keeps a value here and hands out the reference to it. Of a table nothing is copied. */
VOLLEY_API int32_t volley_gang_put(const volley_gang* gang, const char* name, const char* codec, const void* data, int64_t count, char** out);
VOLLEY_API int32_t volley_gang_put_table(const volley_gang* gang, const char* name, const volley_table* table, char** out);
/* Fetches a value: a table, or bytes with their encoding. Of a reference with several parts it is the table of all rows. */
VOLLEY_API int32_t volley_gang_get(const volley_gang* gang, const char* ref, volley_token* token, volley_table** out_table, char** out_codec, char** out_data,
                                   int64_t* out_count);
/* This worker's part of a table that lies in parts: all workers, or count of them, have parts of equal length, in order. */
VOLLEY_API int32_t volley_gang_redistribute(const volley_gang* gang, const char* ref, const int64_t* ranks, int64_t count, volley_token* token,
                                            volley_table** out);
/* Has the holders forget a value. */
VOLLEY_API int32_t volley_gang_drop(const volley_gang* gang, const char* ref, volley_token* token);
/*
 * Why the last call failed that ended with VOLLEY_FAULT: "lost", "left" and the other causes of volley_comm_fault, or "failed" for a function that failed on a
 * worker; and the ranks to blame, of which up to capacity are put into ranks.
 */
VOLLEY_API int32_t volley_gang_fault(const volley_gang* gang, int64_t* ranks, int64_t capacity, char** out_cause, int64_t* out_count);
/* Gives a place back: a worker leaves, a gang that was not stopped is. */
VOLLEY_API int32_t volley_gang_free(volley_gang* gang);

#endif
