// How the library's own threads are scheduled: without interrupting others as they are woken. Who trains has a thread on every processor, some
// of which look for the others and do not sleep; giving back one batch wakes a thread that makes the next, and on Linux that one would mostly take
// the processor of the thread that is just asking for a batch.
//
// A thread has this from the one that made it, so the loading thread is told so before the Go runtime makes its first one, from which all others
// come, and is as it was again when the runtime is there.
#ifdef __linux__
#define _GNU_SOURCE
#endif

#include "base.h"

#ifdef __linux__
#include <sched.h>
#include <unistd.h>
#include <sys/syscall.h>

static pid_t told;  // the loading thread, while it is scheduled so

__attribute__((constructor(101))) static void behind(void) {
  struct sched_param none = {0};
  pid_t me = (pid_t)syscall(SYS_gettid);
  if (sched_getscheduler(me) == SCHED_OTHER && sched_setscheduler(me, SCHED_BATCH, &none) == 0) told = me;
}

void vly_as_it_was(void) {
  struct sched_param none = {0};
  if (told != 0) sched_setscheduler(told, SCHED_OTHER, &none);
}
#else
void vly_as_it_was(void) {}
#endif
