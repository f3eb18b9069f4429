/*
 * volley.h: the C interface of volley, a library of columnar kernels, tables and readers on whatever processor is there.
 *
 * Handles. Everything behind an opaque type is reached by a handle. There is one rule of ownership: a handle that a function hands out
 * through a parameter whose name begins with "out" belongs to the caller, who gives it back with the free function of its type; a handle
 * that is passed in is only borrowed for the call. Handles are numbers and never addresses: one that was freed, or that is of another type,
 * is a VOLLEY_CLOSED or VOLLEY_MISMATCH and never undefined behaviour. Freeing NULL does nothing. What a handle needs stays alive as long as
 * the handle: a table may be freed while a query over it, or an Arrow array exported from it, lives on.
 *
 * Arrow and DLPack structures follow the rules of their own specifications: a function that imports one moves it, also when it fails, and
 * leaves its release pointer NULL; one that exports fills a structure whose release callback the caller calls once, from any thread.
 *
 * Results. Functions return a status: VOLLEY_OK, VOLLEY_PENDING of calls with a token that has patience, or an error below zero, of which
 * volley_last_error tells more on the same thread. Out parameters are cleared first, so after an error they are NULL or 0.
 *
 * Structures with options begin with their size, which the caller sets to sizeof; NULL in their place, and zero in any field, is the
 * default. Fields are only ever added at the end.
 *
 * Threads. Every function may be called from every thread, on the same handles too. A fork after the first use of the library is answered in
 * the child with VOLLEY_FORKED: threads do not survive a fork. Load the library after the fork, or start processes with exec (spawn).
 *
 * Signals. The program's handlers stay in place and are called, also for faults of its own code; SIGURG alone is of the library's runtime,
 * Go's, from the moment that it is loaded. A handler that is installed later takes SA_ONSTACK, since threads of Go have small stacks, and leaves
 * SIGSEGV, SIGBUS and SIGFPE to the one before it where they are not its own.
 *
 * Texts are UTF-8 and end with a NUL. Texts that are handed out are freed with volley_string_free.
 */
#ifndef VOLLEY_H
#define VOLLEY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define VOLLEY_API __declspec(dllimport)
#else
#define VOLLEY_API __attribute__((visibility("default")))
#endif

/* The version of the header; volley_version gives the library's. */
#define VOLLEY_VERSION "0.1.0"

/* A change to anything that is here raises MAJOR; an addition raises MINOR. */
#define VOLLEY_ABI_MAJOR 1
#define VOLLEY_ABI_MINOR 24

/* The statuses. */
enum {
  VOLLEY_OK = 0,
  VOLLEY_PENDING = 1,         /* a call with a patient token goes on: see volley_token_wait */
  VOLLEY_UNAVAILABLE = -1,    /* the device or its driver is not there */
  VOLLEY_UNSUPPORTED = -2,    /* that kernel, type or option is not there */
  VOLLEY_OUT_OF_MEMORY = -3,
  VOLLEY_CLOSED = -4,         /* use of a handle that was freed, or of a structure that was released */
  VOLLEY_MISMATCH = -5,       /* names, shapes, types, lengths or devices disagree; a NULL where none may be */
  VOLLEY_LOST = -6,           /* the device failed for good */
  VOLLEY_CANCELED = -7,       /* a token was cancelled */
  VOLLEY_VALUE = -8,          /* a value that the operation has no answer for: overflow where checked, a bad text */
  VOLLEY_FORMAT = -9,         /* a file that is not what its format says */
  VOLLEY_NOT_FOUND = -10,     /* a file or folder that is not there */
  VOLLEY_FORKED = -11,        /* this process was forked after the library was first used */
  VOLLEY_INTERNAL = -12,      /* a defect of the library */
  VOLLEY_FAULT = -13          /* a collective operation that failed on all ranks: the message names the rank to blame */
};

/* How far imported arrays are checked. */
enum {
  VOLLEY_VALIDATE_CHEAP = 0, /* lengths, pointers, the ends of offsets: the default */
  VOLLEY_VALIDATE_NONE = 1,  /* pointers and lengths alone; the caller vouches for the contents */
  VOLLEY_VALIDATE_FULL = 2   /* every offset, index and text too */
};

typedef struct volley_device volley_device;   /* a processor with its kernels */
typedef struct volley_stream volley_stream;   /* an ordered queue of work on a device */
typedef struct volley_event volley_event;     /* a point in the work of a stream */
typedef struct volley_token volley_token;     /* what makes a long call stoppable */
typedef struct volley_column volley_column;   /* an Arrow array on a device; immutable */
typedef struct volley_table volley_table;     /* named columns of one length, in chunks; immutable */
typedef struct volley_query volley_query;     /* a plan over tables and files; immutable */
typedef struct volley_profile volley_profile; /* what a run of a query measured; immutable */
typedef struct volley_expr volley_expr;       /* an expression over columns; immutable */
typedef struct volley_loader volley_loader;   /* training batches of a table, made ahead of who uses them */
typedef struct volley_batch volley_batch;     /* one of them, lent by the loader's ring of memory */
typedef struct volley_comm volley_comm;       /* a rank's membership in a group of ranks */
typedef struct volley_request volley_request; /* a collective operation that was started */
typedef struct volley_vector volley_vector;   /* elements in a device's memory that collective operations read and write */
typedef struct volley_fuser volley_fuser;     /* what makes one collective operation of many small ones */
typedef struct volley_distributed volley_distributed; /* this rank's part of a table on ranks; immutable */
typedef struct volley_gang volley_gang;       /* a place in a gang: its start, or a worker */
typedef struct volley_matrix volley_matrix;   /* a dense row-major matrix of float32 or float64 */

#include "volley_arrow.h"

/* DLPack's structures are declared by dlpack.h; here they go by their names alone. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* What went wrong. The texts are valid until the next call on the same thread that fails. */
typedef struct volley_error {
  uint64_t size;
  int64_t status;
  const char* kind;    /* "mismatch", "out of memory", … */
  const char* message; /* for people: names the argument, column, file or row */
  const char* device;  /* "cpu", "cuda:0", or "" */
} volley_error;

/* A device of this machine, or why a kind of device is not there. */
typedef struct volley_device_info {
  char* name;        /* opens it: "cpu", "cuda:0" */
  char* kind;        /* "cpu", "cuda", "opencl" */
  char* description; /* vendor and model */
  char* tier;        /* the kernels in use, of the CPU: "generic", "avx2", "avx512" */
  char* why;         /* why it cannot be used; "" where it can */
  int64_t units;     /* cores, multiprocessors or compute units */
  int64_t memory;    /* bytes in all, 0 if not known */
  int64_t emulated;  /* 1 where a CPU stands in for the hardware */
} volley_device_info;

/* A raw array: the caller's memory, or a column's. */
typedef struct volley_array {
  uint64_t size;
  const char* type;       /* "int64", "float32", "bool", "utf8", "timestamp[us, tz=UTC]", … */
  int64_t length;         /* values */
  const void* values;     /* values, bits of bool, or the bytes of texts */
  const void* offsets;    /* length + 1 offsets of texts: int32, int64 of the large types; else NULL */
  const void* validity;   /* a bit a value from the lowest, 0 is null; NULL where no value is null */
  int64_t bit_offset;     /* first bit of validity, and of values of bool */
} volley_array;

/* One key of a sort. */
typedef struct volley_order {
  const volley_expr* key;
  int64_t descending;
  int64_t nulls_first; /* nulls, and NaNs after them, before all values; else last */
} volley_order;

/* How volley_cumulative works. */
typedef struct volley_cumulative_options {
  uint64_t size;
  int64_t exclusive;  /* a row's own value is left out: row 0 is 0, 1, the greatest or the least value */
  int64_t keep_nulls; /* all rows from the first null on are null; else a null row is null, and the next one goes on */
  int64_t checked;    /* an overflow of integers or decimals is a VOLLEY_VALUE that names the row; else they wrap */
} volley_cumulative_options;

/* One aggregation of groups, or of all rows. */
typedef struct volley_aggregate {
  const char* op;           /* sum mean min max count count_distinct var std first last any all product share sum_wrapping */
  const volley_expr* input; /* NULL of count: rows are counted */
  const char* name;         /* of the result; NULL for one made of op and input */
  int64_t keep_nulls;       /* a null makes the result null; else nulls are skipped */
  int64_t min_count;        /* values that a result takes; 0 is 1, negative none */
  int64_t ddof;             /* of var and std */
} volley_aggregate;

typedef struct volley_import_options {
  uint64_t size;
  int64_t validate; /* VOLLEY_VALIDATE_… */
} volley_import_options;

typedef struct volley_join_options {
  uint64_t size;
  int64_t nulls_equal;  /* null matches null */
  int64_t any_order;    /* rows in whatever order is fastest */
  const char* suffix;   /* of right columns whose name is taken; NULL is "_right" */
  /* What pairs of equal keys must meet besides, or NULL: a condition over columns as an inner join names them. Of queries, for inner, left, semi, anti. */
  const volley_expr* where;
} volley_join_options;

typedef struct volley_group_options {
  uint64_t size;
  int64_t drop_null_keys;
  int64_t any_order; /* groups in whatever order is fastest; else of first appearance */
} volley_group_options;

typedef struct volley_csv_options {
  uint64_t size;
  const char* delimiter;         /* one byte of ASCII; NULL is a comma */
  int64_t no_header;
  const char* const* names;      /* of the columns, names_count of them */
  int64_t names_count;
  const char* const* type_names; /* columns whose type is given, and that type: types_count of each */
  const char* const* types;
  int64_t types_count;
  const char* const* nulls;      /* texts that mean null, nulls_count of them; none means the empty text */
  int64_t nulls_count;
  int64_t sample_rows;           /* rows that types are guessed from; 0 is 10,000 */
  int64_t lenient;               /* leave out records that are wrong */
  int64_t no_hive;               /* leave out the columns that folders named key=value say */
} volley_csv_options;

typedef struct volley_scan_options {
  uint64_t size;
  const char* int96;    /* of Parquet: the unit of timestamps of 96 bits, "ns", "us" or "ms"; NULL is "ns" */
  int64_t max_unpacked; /* of Arrow IPC: bytes that the compressed buffers of a batch may become; 0 is 256 MiB, or 1,024 times what they take if that is more */
  int64_t no_hive;      /* leave out the columns that folders named key=value say */
} volley_scan_options;

typedef struct volley_write_options {
  uint64_t size;
  const char* format;      /* "parquet", "csv", "arrow", "arrows"; NULL goes by the path's ending */
  const char* compression; /* "none", "snappy", "zstd", "lz4"; NULL is the format's default */
  int64_t row_group_rows;  /* of Parquet; 0 is 262,144 */
  const char* delimiter;   /* of CSV; NULL is a comma */
  const char* null_text;   /* of CSV; NULL is the empty text */
  int64_t no_header;       /* of CSV */
} volley_write_options;

/* What a long call has done so far. */
typedef struct volley_progress {
  uint64_t size;
  int64_t read;   /* rows read from tables and files */
  int64_t total;  /* of how many, as far as is known by now */
  int64_t made;   /* rows of the result, or written */
  double seconds; /* since the call began */
} volley_progress;

/* ---- the library ---- */

/* MAJOR << 16 | MINOR of the library that is loaded. Compare MAJOR with VOLLEY_ABI_MAJOR before anything else. */
VOLLEY_API uint32_t volley_abi_version(void);

/* The last error of this thread, or one with status VOLLEY_OK. Never NULL; works in a forked child too. */
VOLLEY_API const volley_error* volley_last_error(void);

/* Frees a text that the library handed out. */
VOLLEY_API void volley_string_free(char* text);

/* The library's version. */
VOLLEY_API int32_t volley_version(char** out);

/*
 * 1 if the library has a feature, else 0: "arrow_c_data", "arrow_c_stream", "dlpack", "dlpack_versioned", "parquet", "csv", "ipc",
 * "arrow_c_device", "dlpack_device", "streams", "functions", "progress", "collectives". */
VOLLEY_API int32_t volley_feature(const char* name, int64_t* out);

/* How many handles and exported Arrow and DLPack structures have not been given back. For tests. */
VOLLEY_API int32_t volley_live(int64_t* out);

/*
 * How many bytes of host memory the library may hold at a time, of columns, tables, readers and loaders; 0 is no limit. A call that needs more fails
 * with VOLLEY_OUT_OF_MEMORY, which says what was asked for, what is held and the limit; what is held stays, and later calls that fit go on working. The
 * variable VOLLEY_MEMORY of the environment ("4GiB", or bytes) is the limit from the beginning. Memory of the caller's that columns are over, memory of
 * devices and what the library's runtime needs beside it do not count.
 */
VOLLEY_API int32_t volley_set_memory_limit(int64_t limit);
/* The bytes of host memory that the library holds, with what it keeps to use again, and the limit. */
VOLLEY_API int32_t volley_memory(int64_t* out_held, int64_t* out_limit);

/* ---- tokens ---- */

/*
 * A token makes long calls stoppable: volley_token_cancel, from any thread, ends the one that was given it, within 100 ms, with
 * VOLLEY_CANCELED. A token that was cancelled stays so. With a patience above 0, in milliseconds, a call that takes longer returns
 * VOLLEY_PENDING and goes on: call volley_token_wait until it returns another status, and keep the call's out parameters valid until then;
 * what other arguments point at is read before the first return. One call at a time may have a token with patience.
 */
VOLLEY_API int32_t volley_token_new(int64_t patience, volley_token** out);
VOLLEY_API int32_t volley_token_cancel(volley_token* token);
/* Waits for a pending call for as long as the token's patience: VOLLEY_PENDING, or the call's status. */
VOLLEY_API int32_t volley_token_wait(volley_token* token);
/*
 * Has progress called with context, about every interval milliseconds and once at its end, while a call with the token runs: from a thread of
 * the library's, and never once the call has ended. Another return than 0 cancels the token. NULL in place of progress ends it.
 */
VOLLEY_API int32_t volley_token_progress(volley_token* token, int64_t interval, int32_t (*progress)(void* context, const volley_progress* done),
                                         void* context);
/* Frees a token; a pending call is cancelled and its result dropped. */
VOLLEY_API int32_t volley_token_free(volley_token* token);

/* ---- devices ---- */

/* The devices of this machine; free them with volley_devices_free. */
VOLLEY_API int32_t volley_devices(volley_device_info** out, int64_t* out_count);
VOLLEY_API void volley_devices_free(volley_device_info* devices, int64_t count);

/*
 * Opens a device by its name: "auto", "cpu", "cuda:0", "opencl:1". A device is opened once in a process and stays open; every handle of it is of
 * one and the same device. Where a parameter is a device, NULL is "auto".
 */
VOLLEY_API int32_t volley_device_open(const char* name, volley_device** out);
VOLLEY_API int32_t volley_device_name(const volley_device* device, char** out);
VOLLEY_API int32_t volley_device_free(volley_device* device);
/*
 * The driver's context that memory and events of other libraries must be of: a CUcontext, the device's primary one; a cl_context. The host has
 * none: VOLLEY_UNSUPPORTED.
 */
VOLLEY_API int32_t volley_device_context(const volley_device* device, uint64_t* out);

/* ---- streams and events ---- */

/*
 * A stream is an ordered queue of work on one device. volley_stream_device hands out the device as seen through the stream: the kernels on
 * columns and matrices, and the copies between devices, that are given it put their work on the stream and return when it is enqueued; without
 * it a call waits for its work. What they hand out may be given to other calls at once, which wait for what they need. A failure of the work
 * stays with the stream and is what volley_stream_wait returns. Work of the host's streams is done when the call returns.
 */
VOLLEY_API int32_t volley_stream_new(const volley_device* device, volley_stream** out);
VOLLEY_API int32_t volley_stream_device(const volley_stream* stream, volley_device** out);
/* Waits until all work that the stream was given is done. */
VOLLEY_API int32_t volley_stream_wait(const volley_stream* stream, volley_token* token);
/* Marks the point reached so far in an event of the same device. */
VOLLEY_API int32_t volley_stream_record(const volley_stream* stream, volley_event* event);
/* Later work of the stream waits for the point that the event marks now, of this stream or another one. */
VOLLEY_API int32_t volley_stream_wait_event(const volley_stream* stream, const volley_event* event);
/* The stream ends when its work is done and nothing of it is used any more. */
VOLLEY_API int32_t volley_stream_free(volley_stream* stream);
VOLLEY_API int32_t volley_event_new(const volley_device* device, volley_event** out);
/* 1 if the point was reached, or none was ever marked. */
VOLLEY_API int32_t volley_event_done(const volley_event* event, int64_t* out);
VOLLEY_API int32_t volley_event_wait(const volley_event* event, volley_token* token);
/* The seconds on the device from the point of one event to that of another, both of which were reached. */
VOLLEY_API int32_t volley_event_elapsed(const volley_event* start, const volley_event* end, double* out);
VOLLEY_API int32_t volley_event_free(volley_event* event);

/* ---- columns ---- */

/*
 * Imports an array without copying; arrays of string views and binary views alone are copied, to large texts and binaries, and lists and binaries of a
 * fixed size get offsets: they become large ones.
 */
VOLLEY_API int32_t volley_column_import(struct ArrowArray* array, struct ArrowSchema* schema, const volley_import_options* options,
                                        volley_column** out);
/* Exports a column; of a device's memory a copy on the host. Either structure may be NULL. */
VOLLEY_API int32_t volley_column_export(const volley_column* column, struct ArrowArray* out_array, struct ArrowSchema* out_schema);
/*
 * Imports an array where it is, without copying: of the host, of CUDA or of OpenCL. OpenCL's cl_mem are of the context that
 * volley_device_context gives. The offsets of texts and lists are read for their ends; VOLLEY_VALIDATE_FULL copies all to the host.
 */
VOLLEY_API int32_t volley_column_import_device(struct ArrowDeviceArray* array, struct ArrowSchema* schema, const volley_import_options* options,
                                               volley_token* token, volley_column** out);
/* Exports a column where it is; its work is done, and sync_event is NULL. Either structure may be NULL. */
VOLLEY_API int32_t volley_column_export_device(const volley_column* column, struct ArrowDeviceArray* out_array, struct ArrowSchema* out_schema);
/* The column in the memory of a device: the same where it is there. */
VOLLEY_API int32_t volley_column_to(const volley_column* column, const volley_device* device, volley_token* token, volley_column** out);
/* The device whose memory it is in. */
VOLLEY_API int32_t volley_column_device(const volley_column* column, volley_device** out);
/* A column over the caller's memory, which must stay as it is until release, if not NULL, is called with context, once, from any thread. */
VOLLEY_API int32_t volley_column_wrap(const volley_array* array, void (*release)(void*), void* context, volley_column** out);
/* The memory of a column in host memory, valid while the column lives. Set out's size first. Nested and dictionary columns: export them. */
VOLLEY_API int32_t volley_column_view(const volley_column* column, volley_array* out);
/*
 * Imports a one-dimensional tensor where it is, without copying; a strided one of the host is copied. The work that makes a tensor of a device
 * must be done. Data of OpenCL is a cl_mem of the context that volley_device_context gives.
 */
VOLLEY_API int32_t volley_column_from_dlpack(struct DLManagedTensor* tensor, volley_column** out);
VOLLEY_API int32_t volley_column_from_dlpack_versioned(struct DLManagedTensorVersioned* tensor, volley_column** out);
/* Exports numbers without nulls, where they are, as a tensor that must not be written to. The versioned one says so in its flags. */
VOLLEY_API int32_t volley_column_to_dlpack(const volley_column* column, struct DLManagedTensor** out);
VOLLEY_API int32_t volley_column_to_dlpack_versioned(const volley_column* column, struct DLManagedTensorVersioned** out);
VOLLEY_API int32_t volley_column_length(const volley_column* column, int64_t* out);
VOLLEY_API int32_t volley_column_null_count(const volley_column* column, int64_t* out);
/* The type as expressions have it: "int64", "timestamp[us, tz=UTC]". */
VOLLEY_API int32_t volley_column_type(const volley_column* column, char** out);
VOLLEY_API int32_t volley_column_slice(const volley_column* column, int64_t offset, int64_t length, volley_column** out);
VOLLEY_API int32_t volley_column_free(volley_column* column);

/* ---- expressions ---- */

VOLLEY_API int32_t volley_expr_column(const char* name, volley_expr** out);
VOLLEY_API int32_t volley_expr_null(volley_expr** out);
VOLLEY_API int32_t volley_expr_bool(int64_t value, volley_expr** out);
VOLLEY_API int32_t volley_expr_int64(int64_t value, volley_expr** out);
VOLLEY_API int32_t volley_expr_uint64(uint64_t value, volley_expr** out);
VOLLEY_API int32_t volley_expr_float64(double value, volley_expr** out);
VOLLEY_API int32_t volley_expr_text(const char* value, volley_expr** out);
/* Parses a text as SQL writes expressions: "delay > 15 and state in ('WY', 'IA')". */
VOLLEY_API int32_t volley_expr_parse(const char* text, volley_expr** out);
/*
 * An operation by its name: add sub mul div mod (and add_checked and its like), eq ne lt le gt ge, and or xor and_not not, is_null is_not_null
 * is_nan, neg abs sign sqrt exp ln floor ceil trunc round, year month day hour minute second day_of_week day_of_year, coalesce fill_null if_else
 * between in, contains starts_with ends_with (of a text and a literal), like (text, pattern, and if wanted the escape), substring (text, from letter,
 * and if wanted how many letters); case takes condition, value, condition, value, …, otherwise.
 */
VOLLEY_API int32_t volley_expr_call(const char* op, const volley_expr* const* args, int64_t count, volley_expr** out);
/* Whether the value is among those of columns in host memory: the operation in, for many values. A null is where one of them is null. */
VOLLEY_API int32_t volley_expr_in(const volley_expr* value, const volley_column* const* lists, int64_t count, volley_expr** out);
VOLLEY_API int32_t volley_expr_cast(const volley_expr* expr, const char* type, volley_expr** out);
VOLLEY_API int32_t volley_expr_alias(const volley_expr* expr, const char* name, volley_expr** out);
/* The expression as text that volley_expr_parse reads back. */
VOLLEY_API int32_t volley_expr_format(const volley_expr* expr, char** out);
VOLLEY_API int32_t volley_expr_free(volley_expr* expr);

/* ---- tables ---- */

/* A table of columns of one length; the columns are shared where they are on the device, else copied to it. */
VOLLEY_API int32_t volley_table_new(const volley_device* device, const char* const* names, const volley_column* const* columns, int64_t count,
                                    volley_token* token, volley_table** out);
/* Reads a stream of record batches to its end, without copying to a device on the host. */
VOLLEY_API int32_t volley_table_import(const volley_device* device, struct ArrowArrayStream* stream, const volley_import_options* options,
                                       volley_token* token, volley_table** out);
/* The table's chunks as a stream, without copying from a device on the host. */
VOLLEY_API int32_t volley_table_export(const volley_table* table, struct ArrowArrayStream* out);
/* Reads a stream of device arrays to its end, without copying: a table on the arrays' device. */
VOLLEY_API int32_t volley_table_import_device(struct ArrowDeviceArrayStream* stream, const volley_import_options* options, volley_token* token,
                                              volley_table** out);
/* The table's chunks as a stream of arrays on the table's device, without copying. */
VOLLEY_API int32_t volley_table_export_device(const volley_table* table, struct ArrowDeviceArrayStream* out);
VOLLEY_API int32_t volley_table_schema(const volley_table* table, struct ArrowSchema* out);
VOLLEY_API int32_t volley_table_rows(const volley_table* table, int64_t* out);
VOLLEY_API int32_t volley_table_columns(const volley_table* table, int64_t* out);
VOLLEY_API int32_t volley_table_name(const volley_table* table, int64_t index, char** out);
VOLLEY_API int32_t volley_table_type(const volley_table* table, int64_t index, char** out);
VOLLEY_API int32_t volley_table_device(const volley_table* table, volley_device** out);
/* length rows from offset on, without a copy: fewer if there are fewer. An offset below 0 counts from the end. */
VOLLEY_API int32_t volley_table_slice(const volley_table* table, int64_t offset, int64_t length, volley_table** out);
/* The rows of tables one after the other, which have the columns of the first, in any order: a copy where that or the device is another one. */
VOLLEY_API int32_t volley_table_concat(const volley_table* const* tables, int64_t count, volley_token* token, volley_table** out);
/* A column by its name. That of a table of several chunks is put together: a copy. */
VOLLEY_API int32_t volley_table_column(const volley_table* table, const char* name, volley_token* token, volley_column** out);
/* The table on another device; the same columns where both work on host memory. */
VOLLEY_API int32_t volley_table_to(const volley_table* table, const volley_device* device, volley_token* token, volley_table** out);
/* The table with a column of int64 behind the others: first for the first row, and one more for each. */
VOLLEY_API int32_t volley_table_row_number(const volley_table* table, const char* name, int64_t first, volley_token* token, volley_table** out);
/*
 * Splits a table into parts tables, 1 to 2^20, for which out_parts has room. Each has the table's columns, rows in the table's order, and the
 * table's device. A row goes to part floor(h * parts / 2^64), where h is the hash of its keys: rows of equal keys go to one part on every device
 * and in every process. A null is a key like others, NaNs are equal, -0 equals 0, integers of all widths are equal by value, and texts by their
 * bytes, in a dictionary or not.
 */
VOLLEY_API int32_t volley_table_partition(const volley_table* table, const char* const* keys, int64_t count, int64_t parts, volley_token* token,
                                          volley_table** out_parts);
/* Row i goes to part i modulo parts. */
VOLLEY_API int32_t volley_table_partition_round_robin(const volley_table* table, int64_t parts, volley_token* token, volley_table** out_parts);
/*
 * Splits a table at bounds, of which there is one less than parts: a table with a column for each key, in their order, and sorted by them. A row
 * goes to the part whose number is that of the bounds that it does not come before.
 */
VOLLEY_API int32_t volley_table_partition_range(const volley_table* table, const volley_table* bounds, const volley_order* keys, int64_t count,
                                                int64_t parts, volley_token* token, volley_table** out_parts);
/* The first head and last tail rows with names and types, aligned. head below 0 shows all. */
VOLLEY_API int32_t volley_table_format(const volley_table* table, int64_t head, int64_t tail, char** out);
VOLLEY_API int32_t volley_table_free(volley_table* table);

/* ---- queries ---- */

VOLLEY_API int32_t volley_query_table(const volley_table* table, volley_query** out);
VOLLEY_API int32_t volley_scan_parquet(const char* const* paths, int64_t count, volley_query** out);
VOLLEY_API int32_t volley_scan_csv(const char* const* paths, int64_t count, const volley_csv_options* options, volley_query** out);
VOLLEY_API int32_t volley_scan_ipc(const char* const* paths, int64_t count, volley_query** out);
/* The same with options, of which NULL is the defaults. */
VOLLEY_API int32_t volley_scan_parquet_with(const char* const* paths, int64_t count, const volley_scan_options* options, volley_query** out);
VOLLEY_API int32_t volley_scan_ipc_with(const char* const* paths, int64_t count, const volley_scan_options* options, volley_query** out);
/* Runs the query on a device: that of its tables, where it reads any. A query over files alone runs where this was last said, and else on the best device. */
VOLLEY_API int32_t volley_query_on(const volley_query* query, const volley_device* device, volley_query** out);
VOLLEY_API int32_t volley_query_filter(const volley_query* query, const volley_expr* condition, volley_query** out);
VOLLEY_API int32_t volley_query_select(const volley_query* query, const volley_expr* const* items, int64_t count, volley_query** out);
VOLLEY_API int32_t volley_query_with_column(const volley_query* query, const char* name, const volley_expr* value, volley_query** out);
VOLLEY_API int32_t volley_query_drop(const volley_query* query, const char* const* names, int64_t count, volley_query** out);
VOLLEY_API int32_t volley_query_rename(const volley_query* query, const char* from, const char* to, volley_query** out);
/* Further columns, or others in place of those of their names; all values see the query's columns as they are. names, or one of them, may be NULL: that
   value has its alias or text as its name. */
VOLLEY_API int32_t volley_query_with_columns(const volley_query* query, const char* const* names, const volley_expr* const* values, int64_t n, volley_query** out);
/* A further column, or one in place of that of its name, with the one value of another query in every row: a null where it has no row; two rows are
   an error. */
VOLLEY_API int32_t volley_query_with_scalar(const volley_query* query, const char* name, const volley_query* other, volley_query** out);
/* Other names for columns, all at once, so that two can be swapped. */
VOLLEY_API int32_t volley_query_rename_columns(const volley_query* query, const char* const* from, const char* const* to, int64_t n, volley_query** out);
/* Joins: kind is inner, left, right, full, semi, anti or cross; count pairs of keys, names of columns. SQL's EXISTS and IN are semi joins, NOT EXISTS
   is an anti join; NOT IN is one only where no key is null. */
VOLLEY_API int32_t volley_query_join(const volley_query* left, const volley_query* right, const char* kind, const char* const* left_keys,
                                     const char* const* right_keys, int64_t count, const volley_join_options* options, volley_query** out);
/* A row for each group of equal keys: the keys, then the aggregates. Without keys there is one row. */
VOLLEY_API int32_t volley_query_group_by(const volley_query* query, const volley_expr* const* keys, int64_t key_count, const volley_aggregate* aggregates, int64_t aggregate_count, const volley_group_options* options,
                                         volley_query** out);
VOLLEY_API int32_t volley_query_sort(const volley_query* query, const volley_order* keys, int64_t count, volley_query** out);
/* The distinct rows that both have, and those that only left has: the columns are the same, in any order. */
VOLLEY_API int32_t volley_query_intersect(const volley_query* left, const volley_query* right, volley_query** out);
VOLLEY_API int32_t volley_query_except(const volley_query* left, const volley_query* right, volley_query** out);
VOLLEY_API int32_t volley_query_top_k(const volley_query* query, int64_t k, const volley_order* keys, int64_t count, volley_query** out);
VOLLEY_API int32_t volley_query_slice(const volley_query* query, int64_t offset, int64_t length, volley_query** out);
VOLLEY_API int32_t volley_query_distinct(const volley_query* query, const char* const* names, int64_t count, volley_query** out);
VOLLEY_API int32_t volley_query_union(const volley_query* query, const volley_query* const* others, int64_t count, volley_query** out);
/* Runs the query and keeps its rows as a table. */
VOLLEY_API int32_t volley_query_collect(const volley_query* query, volley_token* token, volley_table** out);
/* Runs the query batch by batch, as the stream is read. Releasing the stream ends it. The token must be one without patience. */
VOLLEY_API int32_t volley_query_stream(const volley_query* query, volley_token* token, struct ArrowArrayStream* out);
/* Counts, means, extremes of each column. */
VOLLEY_API int32_t volley_query_describe(const volley_query* query, volley_token* token, volley_table** out);
/* The plan as it would run. */
VOLLEY_API int32_t volley_query_explain(const volley_query* query, volley_token* token, char** out);
/* The plan as JSON, with estimates and pipelines. profile: collect that measures each step; it is shown as "text", "json", "html", "fragment" or "chrome". */
VOLLEY_API int32_t volley_query_explain_json(const volley_query* query, volley_token* token, char** out);
VOLLEY_API int32_t volley_query_profile(const volley_query* query, volley_token* token, volley_table** out_table, volley_profile** out_profile);
VOLLEY_API int32_t volley_profile_render(const volley_profile* profile, const char* format, char** out);
VOLLEY_API int32_t volley_profile_free(volley_profile* profile);
VOLLEY_API int32_t volley_query_free(volley_query* query);

/* Writes a table to a file, which is replaced when all is written. */
VOLLEY_API int32_t volley_table_write(const volley_table* table, const char* path, const volley_write_options* options, volley_token* token);

/* ---- kernels on columns and raw memory ---- */

/* The values of column where mask, bools of the same length, is true. */
VOLLEY_API int32_t volley_filter(const volley_device* device, const volley_column* column, const volley_column* mask, volley_token* token, volley_column** out);
/* The values of column at rows, integers; a null row gives null. */
VOLLEY_API int32_t volley_take(const volley_device* device, const volley_column* column, const volley_column* rows, volley_token* token, volley_column** out);
/* The rows in order of count keys, the first the most significant. descending and nulls_first hold count values each, or are NULL. Stable. */
VOLLEY_API int32_t volley_sort(const volley_device* device, const volley_column* const* keys, const int32_t* descending, const int32_t* nulls_first, int64_t count, volley_token* token, volley_column** out_rows);
/* The first row of each group of equal keys, and a value of each aggregate for each group; the input of an aggregate is values[i], or NULL. */
VOLLEY_API int32_t volley_group(const volley_device* device, const volley_column* const* keys, int64_t key_count,
                                const volley_aggregate* aggregates, const volley_column* const* values, int64_t aggregate_count,
                                const volley_group_options* options, volley_token* token, volley_column** out_first,
                                volley_column** out_values);
/* The rows of both sides that match, as row numbers; null where a side has none. out_right is NULL of semi and anti joins. */
VOLLEY_API int32_t volley_join(const volley_device* device, const volley_column* const* left, const volley_column* const* right, int64_t count,
                               const char* kind, const volley_join_options* options, volley_token* token, volley_column** out_left,
                               volley_column** out_right);
/*
 * The running "sum", "product", "min" or "max" of a column, in its own type: sums of numbers, decimals and durations, products of numbers,
 * extremes of these and of times. Floats are added up in float64. Extremes pass over NaN.
 */
VOLLEY_API int32_t volley_cumulative(const volley_device* device, const volley_column* column, const char* op,
                                     const volley_cumulative_options* options, volley_token* token, volley_column** out);
/*
 * C = alpha op(A) op(B) + beta C, row-major in host memory; op(A) is m × k, op(B) k × n. lda, ldb, ldc are elements from row to row. With a token
 * that has patience the matrices must stay as they are until the call has ended.
 */
VOLLEY_API int32_t volley_sgemm(const volley_device* device, int32_t transpose_a, int32_t transpose_b, int64_t m, int64_t n, int64_t k,
                                double alpha, const float* a, int64_t lda, const float* b, int64_t ldb, double beta, float* c, int64_t ldc,
                                volley_token* token);
VOLLEY_API int32_t volley_dgemm(const volley_device* device, int32_t transpose_a, int32_t transpose_b, int64_t m, int64_t n, int64_t k,
                                double alpha, const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c, int64_t ldc,
                                volley_token* token);

/*
 * y = alpha op(A) x + beta y; A is m × n, row-major in host memory, x and y have the lengths of op(A)'s columns and rows. incx and incy, 1 or
 * more, are elements from one to the next.
 */
VOLLEY_API int32_t volley_sgemv(const volley_device* device, int32_t transpose_a, int64_t m, int64_t n, double alpha, const float* a, int64_t lda,
                                const float* x, int64_t incx, double beta, float* y, int64_t incy, volley_token* token);
VOLLEY_API int32_t volley_dgemv(const volley_device* device, int32_t transpose_a, int64_t m, int64_t n, double alpha, const double* a, int64_t lda,
                                const double* x, int64_t incx, double beta, double* y, int64_t incy, volley_token* token);

/* ---- functions of the program ---- */

/*
 * Makes a function known under a name of small letters, digits and _, for volley_apply and for expressions, which call it by that name; for as
 * long as the process lives. types are count names: those of the arguments, one or more, and last that of the result, numbers or temporal
 * types.
 *
 * body is the function for the CPU, over runs of rows: it sets all rows values of out from those of each argument, in C's types of those
 * widths (temporal types are their integers). It is called from threads of the library's, several at once, and is also given the values under
 * nulls, which are undefined: the result is null where an argument is. A return other than VOLLEY_OK ends the call that it is made for, with
 * VOLLEY_CANCELED if it is that, else with VOLLEY_VALUE; it may say why in message, of message_size bytes. A token is looked at between runs.
 *
 * source is the same function for GPUs, in C99 with the names of volley's kernels, compiled when it is first called:
 *
 *     FN f64 hypotenuse(f64 a, f64 b) { return sqrt(a * a + b * b); }
 *
 * Either may be NULL: then there is no such function on those devices.
 */
VOLLEY_API int32_t volley_function_register(const char* name, const char* const* types, int64_t count,
                                            int32_t (*body)(void* context, int64_t rows, void* values, const void* const* args, char* message,
                                                            int64_t message_size),
                                            void* context, const char* source);
/* Calls a function of the program for each row of count columns of one length, of the types that it was registered with. */
VOLLEY_API int32_t volley_apply(const volley_device* device, const char* name, const volley_column* const* args, int64_t count,
                                volley_token* token, volley_column** out);

/* ---- matrices ---- */

/* Imports a two-dimensional tensor of float32 or float64 where it is, without copying; one of the host that is not row-major is copied. */
VOLLEY_API int32_t volley_matrix_from_dlpack(struct DLManagedTensor* tensor, volley_matrix** out);
VOLLEY_API int32_t volley_matrix_from_dlpack_versioned(struct DLManagedTensorVersioned* tensor, volley_matrix** out);
VOLLEY_API int32_t volley_matrix_to_dlpack(const volley_matrix* matrix, struct DLManagedTensor** out);
VOLLEY_API int32_t volley_matrix_to_dlpack_versioned(const volley_matrix* matrix, struct DLManagedTensorVersioned** out);
VOLLEY_API int32_t volley_matrix_shape(const volley_matrix* matrix, int64_t* out_rows, int64_t* out_columns);
/* The type: "float32" or "float64". */
VOLLEY_API int32_t volley_matrix_type(const volley_matrix* matrix, char** out);
/* The matrix in the memory of a device: the same where it is there. */
VOLLEY_API int32_t volley_matrix_to(const volley_matrix* matrix, const volley_device* device, volley_token* token, volley_matrix** out);
VOLLEY_API int32_t volley_matrix_device(const volley_matrix* matrix, volley_device** out);
/* The product of two matrices of one type: in the device's memory if one of them is, else in that of the host. */
VOLLEY_API int32_t volley_matrix_multiply(const volley_device* device, const volley_matrix* a, const volley_matrix* b, volley_token* token,
                                          volley_matrix** out);
/*
 * alpha op(a) x + beta y as a column; x and y are columns of the matrix's type without nulls, y may be NULL where beta is 0. The result is in the
 * device's memory if an argument is, else in that of the host.
 */
VOLLEY_API int32_t volley_matrix_gemv(const volley_device* device, int32_t transpose_a, double alpha, const volley_matrix* a,
                                      const volley_column* x, double beta, const volley_column* y, volley_token* token, volley_column** out);
/* The transpose, in memory of its own: in the device's if the matrix is there, else in that of the host. */
VOLLEY_API int32_t volley_matrix_transpose(const volley_device* device, const volley_matrix* matrix, volley_token* token, volley_matrix** out);
VOLLEY_API int32_t volley_matrix_free(volley_matrix* matrix);

#include "volley_comm.h"
#include "volley_gang.h"
#include "volley_vector.h"
#include "volley_distributed.h"
#include "volley_loader.h"
#include "volley_python.h"

#ifdef __cplusplus
}
#endif

#endif /* VOLLEY_H */
