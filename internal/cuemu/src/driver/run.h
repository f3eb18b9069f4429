// One launch while it runs: its resident blocks, their threads and who runs now.
#pragma once
#include "fiber.h"
#include "runtime.h"

namespace cuemu {

enum State : uint8_t { Fresh, Ready, AtBarrier, InWarp, Ended };

struct Slot;
struct Thread {
  Fiber fiber;
  char* stack = nullptr;
  Slot* slot;
  Dim id;
  unsigned index;
  State state;
  int line;            // of the barrier or warp operation that it waits in
  int op;              // warp.cpp
  unsigned mask, arg, width;
  uint64_t value, result;
};

// Slot is one resident block.
struct Slot {
  int number;
  bool active = false;
  Dim block;
  const Entry* entry;
  char *sharedLow, *sharedHigh, *imageLow, *imageHigh;
  std::vector<Thread> threads;
  unsigned size, ended, waiting; // of the block; at a barrier
  int line, reduce;              // of that barrier
  unsigned yes;                  // how many of those who wait brought a value other than 0
  unsigned inWarp[32], gone[32]; // of each warp: the lanes that wait in a warp operation; those that have ended or that there are not
  std::vector<unsigned> queue;   // ring of the threads that can go on
  unsigned head, queued;
};

extern Thread* self;   // the CUDA thread that runs now; null outside of a launch
extern Launch* launch; // the launch that runs now: one at a time
extern int countdown;  // to the next time that a thread stands back for others
extern uint64_t progress;
extern bool seeded;    // the order is drawn, not natural

void push(Thread* t);
void wait(State state);                 // leaves the calling thread waiting in that state
void stand();                           // lets others go first
[[noreturn]] void fault(int code, const char* format, ...) __attribute__((format(printf, 2, 3)));
void warpEnded(Thread* t);              // a thread of the warp has ended
char* stacksLow();
char* stacksHigh();
uint64_t draw();                        // random, by the seed

}  // namespace cuemu
