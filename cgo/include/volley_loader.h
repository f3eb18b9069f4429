/*
 * Training batches of the C interface: part of volley.h, which includes it.
 */
#ifndef VOLLEY_LOADER_H
#define VOLLEY_LOADER_H

/* What a loader makes of a column whose values are no numbers, or not the ones that are wanted. */
typedef struct volley_encoding {
  const char* column;
  const char* kind;          /* "categories": a value is its place in values; "one_hot": as many columns as values, 1 in that of the value;
                                "padded": lists as a tensor of their own, rows × length; "ragged": all lists' items, and where each begins */
  const char* const* values; /* of the first two, values_count of them: texts, and whole numbers and bools as they are written */
  int64_t values_count;
  int64_t length;            /* of lists: the longest there may be */
  double pad;                /* what stands behind the end of a padded list */
  int64_t lenient;           /* a value that is not listed is -1, or all zeros, and a longer list is cut; else they are errors */
} volley_encoding;

/*
 * What a loader makes of a column of bytes or texts, images say, by a function of the program: a tensor of its own (VOLLEY_BATCH_COLUMN), length
 * elements for each row. decode is given a value of size bytes, writes all bytes at to, and returns VOLLEY_OK, or else something about the failure as
 * text at message, which has room for message_size bytes: the batch's error names the row, and skip_bad leaves it out. It is called from any thread,
 * from several at a time where there are workers, and never after volley_loader_free has returned. Nulls are zeros.
 */
typedef struct volley_decoder {
  const char* column;
  const char* type; /* of the elements: "uint8", "float32" and the other types of numbers */
  int64_t length;   /* elements of a row */
  int32_t (*decode)(void* context, const void* value, int64_t size, void* to, int64_t bytes, char* message, int64_t message_size);
  void* context;
} volley_decoder;

/* A column that a loader adds: an expression over columns of numbers, evaluated batch by batch on the batch's rows. */
typedef struct volley_derived {
  const char* name; /* the name of a column that there is puts the expression in its place */
  const volley_expr* value;
} volley_derived;

/*
 * A function of the program that makes of each batch's rows the table that the tensors are gathered from: a join with a small table, functions of texts.
 * map is given the batch as a stream, to read and release or leave alone, fills the structure at result with one that releases what it gives, and
 * returns VOLLEY_OK, or else something about the failure as text at message, which has room for message_size bytes. It is called from any thread, from
 * several at a time where there are workers, first with a batch without rows, to learn the columns of its results, and never begun after volley_loader_free
 * has returned. Derived columns are of what it makes.
 */
typedef struct volley_batch_map {
  uint64_t size;
  const char* name;           /* tells the function apart from others and from its earlier versions: a state taken with another is refused */
  const char* const* columns; /* that it is given, columns_count of them; NULL is all */
  int64_t columns_count;
  int64_t max_rows;           /* how many rows a result may have at most where their number changes; 0: as many as it was given, row for row */
  int32_t (*map)(void* context, struct ArrowArrayStream* batch, struct ArrowArrayStream* result, char* message, int64_t message_size);
  void* context;
  int64_t permanent;          /* map and context stay as long as the process: then volley_loader_free, and a call that is canceled, do not wait for a
                                 map that runs, and what it gives is dropped when it ends. 0: they wait for it, since the context may go behind them */
} volley_batch_map;

/* What a loader makes of a table or of files. Only batch must be set. */
typedef struct volley_loader_options {
  uint64_t size;
  const char* const* features; /* columns of the batches, features_count of them; NULL is all that are no labels, weights or group */
  int64_t features_count;
  const char* const* labels;   /* columns that come apart, labels_count of them */
  int64_t labels_count;
  const char* layout;          /* of the features: "row_major", "column_major", or "columns", a tensor for each; NULL is the first */
  const char* type;            /* "float16", "bfloat16", "float32", "float64", "int32", "int64"; NULL is float32, in the layout columns each column's own */
  const char* label_type;      /* likewise; NULL is float32 */
  int64_t masks;               /* a mask for each tensor; without it nulls are an error */
  int64_t batch;               /* rows of a batch */
  int64_t shuffle;             /* a new order of all rows for each epoch */
  uint64_t seed;               /* of the orders */
  int64_t rank;                /* this rank, from 0 */
  int64_t ranks;               /* of how many; 0 is 1 */
  const char* remainder;       /* "pad": as many rows for all ranks, some a second time; "drop": whole batches alone; "uneven"; NULL is pad */
  int64_t epochs;              /* how many there are; 0 is no end */
  int64_t workers;             /* goroutines that make batches; 0 is one for each processor, -1 none: volley_loader_next makes them */
  int64_t prefetch;            /* batches of the ring, lent ones among them; 0 is workers + 2 */
  int64_t spare;               /* bytes to lay rows out in for random reading; 0 is 50 MiB, -1 none */
  const char* state;           /* where to go on: a text of volley_loader_state; NULL is the beginning */
  int64_t history;             /* above 0 each row of a batch is a window over a time series: so many rows of the past, the features */
  int64_t horizon;             /* and so many rows after those, the labels; 0: the labels of the last row of the past, without steps */
  int64_t stride;              /* rows from a window to the next; 0 is 1 */
  const char* entity;          /* column of numbers or texts that tells series apart that lie one after the other; NULL: one series */
  const char* shuffle_by;      /* what shuffle is: "rows", over all of them, or "blocks+buffer": the parts of files in another order for each epoch,
                                  through a buffer whose rows are shuffled, so that each part is read once an epoch; NULL is rows */
  int64_t buffer;              /* rows of that buffer; 0 is 65536 */
  const char* weights;         /* column by which rows are drawn with replacement, or NULL; of this and the next two one, without shuffle */
  int64_t draws;               /* how many rows an epoch of those draws; 0 is as many as there are */
  const char* stratify;        /* column of classes, texts or whole numbers: each stretch of an epoch has of each its share, or NULL */
  const char* group;           /* column of groups: the rows of each one after the other, the groups in another order for each epoch, or NULL */
  const volley_encoding* encodings; /* encodings_count of them */
  int64_t encodings_count;
  int64_t skip_bad;            /* rows in a part of a file that is damaged are left out, and counted; else they are an error */
  int64_t take;                /* the loader takes the table over: all columns are laid out by rows whatever spare is, and the table given back */
  const volley_decoder* decoders; /* decoders_count of them */
  int64_t decoders_count;
  const volley_derived* derive;   /* derive_count of them, columns like the others */
  int64_t derive_count;
  const volley_device* device;    /* where batches are copied to as soon as they are made, on a stream of their own; NULL, and the CPU, is none */
  int64_t pin;                    /* the ring is in pinned memory, of device or else of CUDA's first one; where there is none it is in plain memory:
                                     volley_loader_warning */
  const volley_batch_map* map;    /* makes a table of each batch's rows; NULL is none */
} volley_loader_options;

/* How a stream of record batches is read for a loader. */
typedef struct volley_batches_options {
  uint64_t size;
  int64_t rows;         /* how many the stream has: it is an error of the epoch's last batch if it has others */
  int64_t piece;        /* rows that are kept or dropped together; 0 is 65536 */
  int64_t cache;        /* bytes of pieces that are kept; 0 is 256 MiB. Less than two pieces have the stream begun anew within an epoch */
  uint64_t fingerprint; /* a number for the values, by which a state knows whether they are the same; 0: their number and types alone */
  /*
   * Begins the stream anew, with the same rows, for the second epoch and each later one, and whenever rows are wanted that went by; NULL where it
   * cannot: then there is one epoch. Returns VOLLEY_OK, or else something about the failure as text at message, which has room for message_size bytes.
   * Called from any thread, once at a time, and never after volley_loader_free has returned.
   */
  int32_t (*open)(void* context, struct ArrowArrayStream* stream, char* message, int64_t message_size);
  void* context;
} volley_batches_options;

/* How files are read for a loader. */
typedef struct volley_file_options {
  uint64_t size;
  const char* format;            /* "parquet", "csv", "arrow"; NULL goes by the endings of the paths */
  const volley_csv_options* csv; /* of CSV; NULL is the defaults */
  int64_t cache;                 /* bytes of decoded parts that are kept; 0 is 256 MiB, -1 none */
  const volley_scan_options* scan; /* of Parquet and Arrow IPC; NULL is the defaults */
} volley_file_options;

/* Which batch a batch is. */
typedef struct volley_batch_info {
  uint64_t size;
  int64_t epoch;
  int64_t step;   /* which batch of this rank, from where the epoch was taken up */
  int64_t rows;
  int64_t padded; /* of these, the last: given a second time in the epoch */
} volley_batch_info;

/* The figures of a loader since it was opened. Times are in nanoseconds; those of workers are of all together. */
typedef struct volley_loader_figures {
  uint64_t size;
  int64_t steps;         /* batches of a whole epoch for this rank */
  int64_t batches;       /* given out */
  int64_t rows;          /* given out */
  int64_t elapsed;
  int64_t gather;        /* workers made tensors of rows */
  int64_t producer_wait; /* workers waited for room in the ring */
  int64_t consumer_wait; /* volley_loader_next waited for a batch */
  int64_t ring;          /* bytes of the ring */
  int64_t spare;         /* bytes in which rows are laid out */
  double fill;           /* batches that waited when one was asked for, on average */
  const char* bound;     /* the stage that bounds the loader: "consumer", "read", "decode", "gather", "transform", "copy"; "" before the first batch */
  int64_t skipped;       /* rows that skip_bad left out */
  int64_t read;          /* decoders read files, or waited for a stream; of all together */
  int64_t decode;        /* decoders decoded; of all together */
  int64_t decode_wait;   /* workers waited for what is decoded */
  int64_t transform;     /* workers were in derived columns */
  int64_t copy;          /* workers copied to the device, and waited for that */
} volley_loader_figures;

/* The tensors of a batch. */
enum {
  VOLLEY_BATCH_FEATURES = 0, /* the matrix of the features, rows × columns; of windows rows × steps × columns */
  VOLLEY_BATCH_LABELS = 1,   /* the matrix of the labels */
  VOLLEY_BATCH_COLUMN = 2,   /* one feature of the layout columns, or one of lists in any layout, by its name */
  VOLLEY_BATCH_ROWS = 3,     /* the numbers of the rows in the table, int64 */
  VOLLEY_BATCH_OFFSETS = 4   /* where the lists of each row begin in a ragged column, and behind the last how many items there are, int64 */
};

/*
 * Makes batches of a table: rows in a shuffled order, gathered into matrices of one type by workers, ahead of who uses them. Of a table in a
 * device's memory the host has one copy of all columns as long as loaders over it are open.
 * All of the ring's memory is taken here. The order of an epoch depends on seed, epoch and number of rows alone. With take the memory of the table
 * goes when its handles are freed: free them right after this.
 */
VOLLEY_API int32_t volley_loader_open(const volley_table* table, const volley_loader_options* options, volley_token* token,
                                      volley_loader** out);
/*
 * Opens a loader over the rows that an open one has taken, as volley_loader_open with take does over a table, which then has none any more: to go
 * on at a state. Both read the same columns in the same layout and types, with masks or without. The first one may be freed then.
 */
VOLLEY_API int32_t volley_loader_reopen(const volley_loader* loader, const volley_loader_options* options, volley_token* token,
                                        volley_loader** out);
/*
 * volley_loader_open over files of any size: paths of files, patterns of their names, and folders, each with the files in it, all of one format
 * and of the same columns. They are read piece by piece: row groups of Parquet, record batches of Arrow IPC, blocks of CSV; Arrow IPC that is not
 * compressed is gathered from where it lies. Footers are read here, of CSV the whole text, and of weights, stratify and group that column.
 */
VOLLEY_API int32_t volley_loader_open_files(const char* const* paths, int64_t count, const volley_file_options* files,
                                            const volley_loader_options* options, volley_token* token, volley_loader** out);
/*
 * volley_loader_open over record batches that come one after the other: a stream, whose rows are given in its order, or with "blocks+buffer" shuffled
 * within a buffer. It is read on threads of the library, piece by piece, ahead of the batches and no further than cache and ring have room.
 * volley_loader_free does not wait for a get_next that runs: the stream is released when that ends.
 */
VOLLEY_API int32_t volley_loader_open_batches(struct ArrowArrayStream* stream, const volley_batches_options* batches,
                                              const volley_loader_options* options, volley_token* token, volley_loader** out);
/*
 * The next batch; NULL at the end of an epoch, after which the next one begins, unless it was the last. Where all batches of the ring are lent
 * it fails at once with VOLLEY_OUT_OF_MEMORY: give one back, or make prefetch larger.
 */
VOLLEY_API int32_t volley_loader_next(const volley_loader* loader, volley_token* token, volley_batch** out);
/* A tensor of a batch: the arguments of volley_batch_to_dlpack. */
typedef struct volley_batch_part {
  const char* column; /* the name of VOLLEY_BATCH_COLUMN and VOLLEY_BATCH_OFFSETS, else NULL */
  int32_t part;
  int32_t mask;
} volley_batch_part;
/*
 * volley_loader_next, volley_batch_to_dlpack of each of the parts, of which there is one at least, and volley_batch_free in one call: out_values, as
 * many as there are parts, gets the tensors, and out_count how many these are: 0 at the end of an epoch. The memory of the batch comes back to the
 * ring when all of them were deleted. Where a part is none of the batch's the call fails, the batch is given back, and the next call has the batch
 * after it.
 */
VOLLEY_API int32_t volley_loader_next_tensors(const volley_loader* loader, const volley_batch_part* parts, int64_t count, volley_token* token,
                                              int64_t* out_count, struct DLManagedTensor** out_values);
/* Where the loader stands, as JSON: what was given out is seen. The first call reads all values, to hash them. */
VOLLEY_API int32_t volley_loader_state(const volley_loader* loader, volley_token* token, char** out);
/* Set out's size first. */
VOLLEY_API int32_t volley_loader_stats(const volley_loader* loader, volley_loader_figures* out);
/* The figures in words, on some lines: how fast batches came, which stage bounds them, what each stage and each side took or waited. */
VOLLEY_API int32_t volley_loader_report(const volley_loader* loader, char** out);
/* What is no error of the loader and should be known, a line each: that there was no pinned memory. NULL where there is nothing. */
VOLLEY_API int32_t volley_loader_warning(const volley_loader* loader, char** out);
/* Stops the workers and frees the loader; a volley_loader_next that waits fails with VOLLEY_CLOSED. Batches that are lent stay as they are. */
VOLLEY_API int32_t volley_loader_free(volley_loader* loader);
/* Set out's size first. */
VOLLEY_API int32_t volley_batch_describe(const volley_batch* batch, volley_batch_info* out);
/*
 * Hands out a tensor of a batch without a copy; who takes it may write to it. With mask not 0 it is the mask: bytes, 0 for null. column is the
 * name of VOLLEY_BATCH_COLUMN. Each tensor is handed out once; a second time is a VOLLEY_CLOSED. The batch's memory comes back to the ring when
 * the batch was freed and all of its tensors were deleted.
 *
 * Of a loader with a device features, labels and columns, and their masks, are in the device's memory, and the call waits until they are there.
 * Delete such a tensor when the work that reads it is done, or name the queue of that work with volley_batch_used_on.
 */
VOLLEY_API int32_t volley_batch_to_dlpack(const volley_batch* batch, int32_t part, const char* column, int32_t mask,
                                          struct DLManagedTensor** out);
VOLLEY_API int32_t volley_batch_to_dlpack_versioned(const volley_batch* batch, int32_t part, const char* column, int32_t mask,
                                                    struct DLManagedTensorVersioned** out);
/*
 * Names the CUstream that reads the batch's tensors on the device: their memory is written anew only after the work that this queue was given until
 * the last of them was deleted. 0 is CUDA's default stream. Queues of OpenCL are VOLLEY_UNSUPPORTED.
 */
VOLLEY_API int32_t volley_batch_used_on(const volley_batch* batch, uint64_t queue);
VOLLEY_API int32_t volley_batch_free(volley_batch* batch);

#endif /* VOLLEY_LOADER_H */
