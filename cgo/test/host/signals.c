/*
 * The host's signals keep working: signals LIBRARY. Handlers that were there before the library is loaded, and those that come after, are
 * called while it works (but for SIGURG, which is of Go's runtime: see volley.h); a fault of the host's own is its own to deal with; what is left to the system ends the process as it does without.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "volley.h"

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) {                                              \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      _exit(1);                                                      \
    }                                                                \
  } while (0)

typedef int32_t (*Open)(const char*, volley_device**);
typedef int32_t (*Wrap)(const volley_array*, void (*)(void*), void*, volley_column**);
typedef int32_t (*Sort)(const volley_device*, const volley_column* const*, const int32_t*, const int32_t*, int64_t, volley_token*, volley_column**);
typedef int32_t (*Free)(volley_column*);

static Open open_device;
static Wrap wrap;
static Sort sort;
static Free free_column;

static void load(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (!library) fprintf(stderr, "%s\n", dlerror());
  CHECK(library != NULL);
  *(void**)&open_device = dlsym(library, "volley_device_open");
  *(void**)&wrap = dlsym(library, "volley_column_wrap");
  *(void**)&sort = dlsym(library, "volley_sort");
  *(void**)&free_column = dlsym(library, "volley_column_free");
  CHECK(open_device && wrap && sort && free_column);
}

enum { rows = 1 << 17 };
static int64_t numbers[rows];

/* Some work, of threads of the library's too. */
static void work(void) {
  volley_array array = {.size = sizeof array, .type = "int64", .length = rows, .values = numbers};
  volley_device* cpu;
  volley_column *c, *order;
  CHECK(open_device("cpu", &cpu) == 0);
  CHECK(wrap(&array, NULL, NULL, &c) == 0);
  CHECK(sort(cpu, (const volley_column* const*)&c, NULL, NULL, 1, NULL, &order) == 0);
  CHECK(free_column(order) == 0 && free_column(c) == 0);
}

static const int counted[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGPROF, SIGPIPE};
enum { kinds = sizeof counted / sizeof *counted };
static volatile sig_atomic_t seen[128];
static volatile int over;
static sigjmp_buf back;

static void counts(int number) { seen[number]++; }
static void jumps(int number) {
  seen[number]++;
  siglongjmp(back, 1);
}

static void on(int number, void (*handler)(int)) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = handler;
  a.sa_flags = SA_ONSTACK | SA_RESTART; /* Go's threads have small stacks: what handles signals in a process with Go takes its own */
  CHECK(sigaction(number, &a, NULL) == 0);
}

static void* sends(void* process) {
  while (!over) {
    for (int i = 0; i < kinds; i++) kill(*(pid_t*)process, counted[i]);
    usleep(2000);
  }
  return NULL;
}

static void faults(void) {
  if (sigsetjmp(back, 1) == 0) {
    *(volatile int*)16 = 1;
    CHECK(!"the host's own fault went by");
  }
}

/* What becomes of a process with the library that sends itself a signal that nobody handles. */
static int ends_with(const char* library, int number) {
  int status;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    load(library);
    work();
    raise(number);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int main(int argc, char** argv) {
  pid_t self = getpid();
  pthread_t sender;
  int rounds = 0, missing = 1;
  CHECK(argc == 2);
  for (int i = 0; i < rows; i++) numbers[i] = i ^ 0x2aaa;
  CHECK(ends_with(argv[1], SIGTERM) == SIGTERM);
  CHECK(ends_with(argv[1], SIGINT) == SIGINT);
  CHECK(ends_with(argv[1], SIGKILL) == SIGKILL);
  CHECK(ends_with(argv[1], SIGCHLD) == 0); /* ignored, as without */

  for (int i = 0; i < kinds; i++) on(counted[i], counts); /* before the library is there */
  on(SIGSEGV, jumps);
  faults();
  CHECK(seen[SIGSEGV] == 1);
  load(argv[1]);
  work();
  faults(); /* the handler that was there before the library's runtime is still the one for faults of C */
  CHECK(seen[SIGSEGV] == 2);
  for (int i = 0; i < kinds; i++) seen[counted[i]] = 0;
  CHECK(pthread_create(&sender, NULL, sends, &self) == 0);
  for (rounds = 0; missing && rounds < 20000; rounds++) { /* until each has come ten times while the library works */
    work();
    missing = 0;
    for (int i = 0; i < kinds; i++) missing += seen[counted[i]] < 10;
  }
  CHECK(!missing);
  on(SIGUSR1, SIG_IGN);
  on(SIGUSR2, counts); /* and one that comes after */
  seen[SIGUSR1] = seen[SIGUSR2] = 0;
  while (seen[SIGUSR2] < 10) work();
  CHECK(seen[SIGUSR1] == 0);
  over = 1;
  pthread_join(sender, NULL);
  puts("signals: the host's handlers are called, its own faults are its own");
  return 0;
}
