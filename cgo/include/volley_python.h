/*
 * What a package of Python over this library needs of C: part of volley.h, which includes it.
 *
 * The library calls a program back from threads of its own, and gives memory back when its last user is done: also while an interpreter ends, and
 * after it. A callback that is made of a Python function has no interpreter then, and the process ends with a signal. The functions here are C, know
 * whether the interpreter is there, and call nothing of it once volley_python_end was called.
 *
 * An object is a PyObject of which a reference is handed over.
 */
#ifndef VOLLEY_PYTHON_H
#define VOLLEY_PYTHON_H

/* Addresses of functions of CPython's, of those names. */
typedef struct volley_python {
  uint64_t size;
  void* Py_DecRef;
  void* Py_AddPendingCall;
  void* PyEval_SaveThread;
  void* PyEval_RestoreThread;
  void* PyErr_Fetch;
  void* PyErr_Restore;
  void* PyCapsule_GetName;
  void* PyCapsule_GetPointer;
  void* PyCapsule_GetContext;
} volley_python;

/* The interpreter is there, with these functions. It may come again after its end. */
VOLLEY_API int32_t volley_python_begin(const volley_python* functions);
/*
 * The interpreter is about to end: callbacks that come later fail with VOLLEY_CANCELED, and objects are kept. It waits up to patience milliseconds for
 * the callbacks that run: call it without the GIL, which they need. VOLLEY_PENDING where some still run.
 */
VOLLEY_API int32_t volley_python_end(int64_t patience);

/* Gives an object back as soon as a thread with the GIL comes by: called from any thread, with the GIL or without it. A release callback. */
VOLLEY_API void volley_python_release(void* object);
/* Gives back what waits for the GIL: called with it. */
VOLLEY_API void volley_python_drain(void);
/* Release callbacks of structures whose private_data, or manager_ctx, is an object, and which live in its memory. A schema's is NULL. */
VOLLEY_API void volley_python_release_array(struct ArrowArray* array);
VOLLEY_API void volley_python_release_schema(struct ArrowSchema* schema);
VOLLEY_API void volley_python_delete_tensor(struct DLManagedTensor* tensor);
VOLLEY_API void volley_python_delete_tensor_versioned(struct DLManagedTensorVersioned* tensor);
/*
 * The destructor of capsules of Arrow's and DLPack's structures, which go by their names. What is still in one is released, and the object that is its
 * context, if it has one, is given back. An exception that is pending stays as it is.
 */
VOLLEY_API void volley_python_destroy(void* capsule);

/* A stream of functions of Python's, each given number. It is released by release, which gets the number alone. */
VOLLEY_API int32_t volley_python_stream(int64_t number, int (*get_schema)(int64_t number, struct ArrowSchema* out),
                                        int (*get_next)(int64_t number, struct ArrowArray* out), const char* (*get_last_error)(int64_t number),
                                        void (*release)(int64_t number), struct ArrowArrayStream* out);

/* Callbacks of the library whose context is the address of a function of Python's of the same parameters, which is given NULL for its context. */
VOLLEY_API int32_t volley_python_body(void* context, int64_t rows, void* values, const void* const* args, char* message, int64_t message_size);
VOLLEY_API int32_t volley_python_decode(void* context, const void* value, int64_t value_size, void* elements, int64_t elements_size, char* message,
                                        int64_t message_size);
VOLLEY_API int32_t volley_python_open(void* context, struct ArrowArrayStream* stream, char* message, int64_t message_size);
VOLLEY_API int32_t volley_python_progress(void* context, const volley_progress* done);
/* Another whose context is of two words, which stay as long as the process: a function of the same parameters but a number for its context, and that. */
VOLLEY_API int32_t volley_python_map(void* context, struct ArrowArrayStream* batch, struct ArrowArrayStream* result, char* message,
                                     int64_t message_size);

/* Functions of CPython's, its None, and how far behind its beginning an object has the address of its class. */
typedef struct volley_python_values {
  uint64_t size;
  void* PyList_GetItem;
  void* PyLong_AsLongLongAndOverflow;
  void* PyFloat_AsDouble;
  void* PyUnicode_AsUTF8AndSize;
  void* PyErr_Clear;
  void* none;
  uint64_t type_at;
} volley_python_values;

/*
 * Writes the first n items of a list, each None or of the class type, as int64 or, with floats, float64; bits of those that are not None into
 * validity, which is zero before. Called with the GIL. It returns n, or the first item that is another object or does not fit, -1 where a pointer is
 * NULL.
 */
VOLLEY_API int64_t volley_python_numbers(const volley_python_values* by, void* list, int64_t n, void* type, int32_t floats, void* values,
                                         uint8_t* validity, int64_t* nulls);
/*
 * The same of texts: their UTF-8 into data, which has room bytes, and where they end behind the first of offsets, of 32 bits or, with wide, of 64. With
 * offsets NULL it counts their bytes alone.
 */
VOLLEY_API int64_t volley_python_texts(const volley_python_values* by, void* list, int64_t n, void* type, int32_t wide, void* offsets, void* data,
                                       int64_t room, uint8_t* validity, int64_t* nulls, int64_t* bytes);

#endif /* VOLLEY_PYTHON_H */
