// Runs a launch: several blocks are resident at a time, each thread has a stack of its own from when it first waits, and threads and blocks
// take turns in an order drawn from the seed. Everything here happens on one thread of the host, so a seed gives the same run again.
#include <csignal>
#include <cstdarg>
#include <pthread.h>
#include <sys/mman.h>
#include "run.h"

#if defined(__x86_64__)
// It jumps to where the other fiber goes on: the processor would foretell a ret to end at its own caller, and be wrong each time.
__asm__(
    ".text\n.globl cuemu_switch\n.hidden cuemu_switch\n.type cuemu_switch,@function\ncuemu_switch:\n"
    " push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n mov %rsp,(%rdi)\n mov (%rsi),%rsp\n"
    " pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n pop %rcx\n jmp *%rcx\n.size cuemu_switch,.-cuemu_switch\n");
#endif

namespace cuemu {

Thread* self;
Launch* launch;
int countdown;
uint64_t progress;
bool seeded;

namespace {
// The tops of the stacks are shifted against each other: at equal distances they would all want the same few sets of the processor's caches.
const size_t stackBytes = 80 << 10, stackShift = 448, stackShifts = 36, maxThreads = 1024, maxBlocks = 16;
std::mutex running; // one launch at a time, of all devices
Fiber scheduler;
std::vector<Slot> slots(maxBlocks);
char* stacks;
std::vector<char*> freeStacks;
size_t stacksMade;
int faultCode;
uint64_t state;
uint64_t lastProgress, idle, rounds;
double deadline;
std::atomic<unsigned long> hostThread{0}; // the pthread that runs kernels now

char* takeStack() {
  if (!freeStacks.empty()) {
    char* s = freeStacks.back();
    freeStacks.pop_back();
    return s;
  }
  if (!stacks) {
    stacks = (char*)mmap(nullptr, stackBytes * maxThreads * maxBlocks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED) {
      report("no address space for stacks");
      abort();
    }
  }
  char* s = stacks + stackBytes * stacksMade++;
  mprotect(s, 4096, PROT_NONE); // a kernel that runs over its stack gets a fault and not its neighbour's variables
  return s;
}

void threadMain() {
  for (;;) {
    Thread* t = self;
    t->slot->entry->call(launch->params.data());
    t = self;
    t->state = Ended;
    t->slot->ended++;
    t->slot->gone[t->index >> 5] |= 1u << (t->index & 31);
    progress++;
    warpEnded(t);
    fiberSwitch(&t->fiber, &scheduler);
  }
}

// below gives a number from 0 to n-1. Divisions would be a tenth of a run.
unsigned below(unsigned n) { return (unsigned)(draw() * n >> 31); }

void resetTurn() { countdown = seeded ? 1 + (int)below(700) : 512; }

Thread* pop(Slot& s) {
  unsigned size = (unsigned)s.queue.size();
  if (seeded) {
    unsigned other = s.head + below(s.queued);
    if (other >= size) other -= size;
    std::swap(s.queue[s.head], s.queue[other]);
  }
  Thread* t = &s.threads[s.queue[s.head]];
  if (++s.head == size) s.head = 0;
  s.queued--;
  return t;
}

void resume(Thread* t) {
  if (!t->stack) {
    t->stack = takeStack();
    fiberMake(&t->fiber, t->stack, stackBytes - (size_t)(t->stack - stacks) / stackBytes % stackShifts * stackShift, threadMain);
  }
  t->state = Ready;
  self = t;
  fiberSwitch(&scheduler, &t->fiber);
  self = nullptr;
  if (t->state == Ended) {
    freeStacks.push_back(t->stack);
    t->stack = nullptr;
  }
}

bool begin(Slot& s, uint64_t block) {
  Launch& l = *launch;
  ImageCopy& copy = l.function->image->copies[s.number];
  s.active = true;
  s.block = {(unsigned)(block % l.grid.x), (unsigned)(block / l.grid.x % l.grid.y), (unsigned)(block / l.grid.x / l.grid.y)};
  s.sharedLow = copy.sharedLow, s.sharedHigh = copy.sharedHigh, s.imageLow = copy.low, s.imageHigh = copy.high;
  memset(s.sharedLow, 0xAB, s.sharedHigh - s.sharedLow);
  s.ended = s.waiting = s.yes = 0;
  s.size = l.block.x * l.block.y * l.block.z;
  if (s.threads.size() < s.size) s.threads.resize(s.size);
  s.queue.resize(s.size);
  s.head = 0, s.queued = 0;
  for (unsigned w = 0; w < 32; w++) {
    s.inWarp[w] = 0;
    s.gone[w] = w * 32 + 32 <= s.size ? 0 : w * 32 >= s.size ? ~0u : ~0u << (s.size & 31);
  }
  for (unsigned i = 0; i < s.size; i++) {
    Thread& t = s.threads[i];
    t.slot = &s, t.index = i, t.state = Fresh;
    t.id = {i % l.block.x, i / l.block.x % l.block.y, i / (l.block.x * l.block.y)};
    push(&t);
  }
  return true;
}

// stuck says why no thread of the block can go on.
void stuck(Slot& s) {
  unsigned warp = 0;
  const Thread* one = nullptr;
  for (unsigned i = 0; i < s.size; i++)
    if (s.threads[i].state == InWarp) warp++, one = &s.threads[i];
  char more[160] = "";
  if (one)
    snprintf(more, sizeof more, "; %u wait in a warp operation, the last of them thread %u with mask 0x%08x at line %d", warp, one->index, one->mask, one->line);
  char at[40] = "";
  if (s.waiting) snprintf(at, sizeof at, " (line %d)", s.line);
  report("barrier divergence in kernel %s, block (%u,%u,%u): %u threads wait at a barrier%s, %u have ended, of %u%s", launch->function->name.c_str(),
         s.block.x, s.block.y, s.block.z, s.waiting, at, s.ended, s.size, more);
  faultCode = LaunchFailed;
}

// spinning looks, after some turns, for a kernel that gets nowhere: nothing has changed in memory while every thread had many turns.
bool spinning(unsigned turns) {
  if ((++rounds & 255) == 0 && now() > deadline) {
    report("kernel %s runs for more than %g s", launch->function->name.c_str(), settings().timeout);
    faultCode = LaunchTimeout;
    return true;
  }
  if (progress != lastProgress) {
    lastProgress = progress;
    idle = 0;
    return false;
  }
  unsigned threads = 0;
  for (auto& s : slots) threads += s.active ? s.size - s.ended : 0;
  idle += turns;
  if (idle <= 100000 + 300ull * threads) return false;
  for (auto& s : slots)
    if (s.active)
      report("deadlock in kernel %s: no thread gets on; block (%u,%u,%u) has %u threads that spin, %u at a barrier, %u ended",
             launch->function->name.c_str(), s.block.x, s.block.y, s.block.z, s.size - s.ended - s.waiting, s.waiting, s.ended);
  faultCode = LaunchTimeout;
  return true;
}

struct sigaction before[NSIG];

// A fault of the processor inside a kernel (a division by zero, a stack that is run over) becomes the launch's error. Others go to whoever
// had the signal before.
void onSignal(int sig, siginfo_t* info, void* context) {
  if (self && hostThread == (unsigned long)pthread_self()) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, sig);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    fault(LaunchFailed, "%s", sig == SIGFPE ? "integer division by zero or overflow" : "the processor's memory fault (a stack of 64 KiB run over?)");
  }
  struct sigaction& old = before[sig];
  if (old.sa_flags & SA_SIGINFO) {
    old.sa_sigaction(sig, info, context);
  } else if (old.sa_handler != SIG_IGN && old.sa_handler != SIG_DFL) {
    old.sa_handler(sig);
  } else {
    sigaction(sig, &old, nullptr);
  }
}

// The handler runs on a stack of the host thread's own, which the kernel cannot have spoilt.
struct SignalStack {
  static const size_t bytes = 128 << 10;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  SignalStack() {
    stack_t ss = {};
    ss.ss_sp = memory, ss.ss_size = bytes;
    sigaltstack(&ss, nullptr);
  }
  ~SignalStack() {
    stack_t ss = {};
    ss.ss_flags = SS_DISABLE;
    sigaltstack(&ss, nullptr);
    munmap(memory, bytes);
  }
};

void catchSignals() {
  static thread_local SignalStack stack;
  (void)&stack;
  static std::once_flag once;
  std::call_once(once, [] {
    for (int sig : {SIGFPE, SIGSEGV, SIGBUS}) {
      struct sigaction a = {};
      a.sa_sigaction = onSignal;
      a.sa_flags = SA_SIGINFO | SA_ONSTACK;
      sigaction(sig, &a, &before[sig]);
    }
  });
}
}  // namespace

char* stacksLow() { return stacks; }
char* stacksHigh() { return stacks + stackBytes * stacksMade; }

uint64_t draw() {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (state * 0x2545F4914F6CDD1Dull) >> 33;
}

void push(Thread* t) {
  Slot& s = *t->slot;
  unsigned size = (unsigned)s.queue.size(), at = s.head + s.queued++;
  s.queue[at >= size ? at - size : at] = t->index;
}

void wait(State st) {
  Thread* t = self;
  t->state = st;
  fiberSwitch(&t->fiber, &scheduler);
}

void stand() {
  push(self);
  wait(Ready);
  resetTurn();
}

void fault(int code, const char* format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  Thread* t = self;
  Dim b = t->slot->block;
  report("kernel %s, block (%u,%u,%u), thread (%u,%u,%u): %s", launch->function->name.c_str(), b.x, b.y, b.z, t->id.x, t->id.y, t->id.z, text);
  faultCode = code;
  fiberSwitch(&t->fiber, &scheduler);
  abort(); // a launch that failed does not come back here
}

int runLaunch(Launch& l) {
  std::lock_guard<std::mutex> lock(running);
  const uint64_t total = (uint64_t)l.grid.x * l.grid.y * l.grid.z;
  unsigned resident = settings().blocks;
  if (resident > total) resident = (unsigned)total;
  for (unsigned i = 0; i < resident; i++) {
    std::string error = l.function->image->load(i);
    if (!error.empty()) {
      report("%s", error.c_str());
      return LaunchFailed;
    }
    slots[i].number = (int)i;
    slots[i].entry = l.function->image->entry((int)i, l.function->name);
  }
  seeded = settings().seed != 0;
  memoryBegin();
  catchSignals();
  hostThread = (unsigned long)pthread_self();
  static uint64_t launches = 0;
  launches++;
  launch = &l, faultCode = 0, progress = lastProgress = idle = 0;
  state = settings().seed * 0x9E3779B97F4A7C15ull + launches * 0xD1B54A32D192ED03ull + 1;
  deadline = now() + settings().timeout;
  // Blocks start in the order i -> (first + i*step) mod total.
  uint64_t step = 1, first = 0;
  if (seeded && total > 1) {
    first = draw() % total;
    step = 1 + draw() % (total - 1);
    auto gcd = [](uint64_t a, uint64_t b) {
      while (b) a %= b, std::swap(a, b);
      return a;
    };
    while (gcd(step, total) != 1) step = step % (total - 1) + 1;
  }
  uint64_t started = 0, ended = 0;
  unsigned turn = 0;
  auto start = [&](Slot& s) {
    unsigned __int128 at = (unsigned __int128)started++ * step + first;
    begin(s, (uint64_t)(at % total));
  };
  for (unsigned i = 0; i < resident; i++) start(slots[i]);
  while (ended < total && !faultCode) {
    turn = seeded ? below(resident) : (turn + 1) % resident;
    Slot& s = slots[turn];
    if (!s.active) continue;
    unsigned turns = seeded ? 1 + below(2 * s.size) : 2 * s.size;
    unsigned had = 0;
    while (had < turns && s.queued && !faultCode) {
      resetTurn();
      resume(pop(s));
      had++;
    }
    if (faultCode || spinning(had)) break;
    if (s.queued) continue;
    if (s.ended < s.size) {
      stuck(s);
      break;
    }
    s.active = false;
    ended++;
    if (started < total) start(s);
  }
  // After a fault the threads that still wait are given up with their stacks' contents.
  for (auto& s : slots) {
    s.active = false;
    for (auto& t : s.threads) {
      if (t.stack) freeStacks.push_back(t.stack);
      t.stack = nullptr;
    }
  }
  launch = nullptr, self = nullptr;
  hostThread = 0;
  return faultCode;
}

}  // namespace cuemu
