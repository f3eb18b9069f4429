/* Wrong calls of every function: what calls.c, which is made from the header, and wrong.c share. */
#ifndef WRONG_H
#define WRONG_H

#include "check.h"

/* What is tried of a parameter: choice 0 is what it takes, the others are wrong. */
enum {
  WRONG_HANDLE, WRONG_FREED, WRONG_HANDLES, WRONG_TEXT, WRONG_TEXTS, WRONG_NUMBER, WRONG_DOUBLE, WRONG_STRUCTURE, WRONG_MOVED, WRONG_MEMORY, WRONG_OUT,
  WRONG_OUT_OR_NULL, WRONG_FUNCTION
};
/* The choices of a handle. */
enum { GOOD, NONE, GONE, OTHER, NOTHING, RACING, ELSEWHERE, HANDLE_CHOICES };

typedef struct {
  const char* name;
  int kind;
  int type; /* of a handle: its place in wrong_types */
} wrong_parameter;

typedef struct {
  const char* name;
  int count;
  const wrong_parameter* parameters;
  int32_t (*call)(const int* choices);
} wrong_call;

typedef struct {
  const char* name;
  void* (*make)(void);
  void (*free)(void*);
} wrong_type;

extern const wrong_call wrong_calls[];
extern const int wrong_call_count;
extern const wrong_type wrong_types[];
extern const int wrong_type_count;

void* wrong_handle(int type, int choice);
void* wrong_handles(int type, int choice);
const char* wrong_text(const char* name, int choice);
void* wrong_texts(int choice);
int64_t wrong_number(const char* name, int choice);
double wrong_double(int choice);
void* wrong_structure(const char* name, size_t size, int choice);
void* wrong_moved(int choice);
void* wrong_memory(const char* name, int choice);
void wrong_cleared(int32_t status, int cleared);
void wrong_delete(struct DLManagedTensor* tensor);
void wrong_delete_versioned(struct DLManagedTensorVersioned* tensor);

/* One object of each type. A type of the header without one here does not link. */
void* wrong_make_device(void);
void* wrong_make_stream(void);
void* wrong_make_event(void);
void* wrong_make_token(void);
void* wrong_make_column(void);
void* wrong_make_table(void);
void* wrong_make_query(void);
void* wrong_make_profile(void);
void* wrong_make_expr(void);
void* wrong_make_loader(void);
void* wrong_make_batch(void);
void* wrong_make_comm(void);
void* wrong_make_gang(void);
void* wrong_make_slots(void);
void* wrong_make_request(void);
void* wrong_make_matrix(void);
void* wrong_make_distributed(void);
void* wrong_make_fuser(void);
void* wrong_make_vector(void);

#endif
