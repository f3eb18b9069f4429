// Memory of the devices and pinned memory of the host: one range of addresses that is never handed out twice while there is room, with two
// bytes of shadow for each 256 bytes. A kernel's loads and stores are looked up there before they are done.
#include <sys/mman.h>
#include "memory.h"

namespace cuemu {

uintptr_t arenaBase;
uint16_t* shadow;

namespace {
const size_t page = 4096;
struct Block {
  size_t bytes;
  int owner;
  void* context;
};
std::mutex mutex;
std::map<uintptr_t, Block> live;                       // by address
std::map<uintptr_t, std::pair<size_t, int>> freed;     // the last ones, for messages
std::deque<uintptr_t> freedOrder;
std::map<uintptr_t, size_t> registered;
std::atomic<int> registeredCount{0};
size_t used[64];
uintptr_t next;

void begin() {
  if (arenaBase) return;
  void* p = mmap(nullptr, arenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* s = mmap(nullptr, arenaBytes / 256 * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED || s == MAP_FAILED) {
    report("no address space for device memory");
    abort();
  }
  shadow = (uint16_t*)s;
  next = (uintptr_t)p;
  arenaBase = next;
}

void mark(uintptr_t p, size_t bytes, int owner) {
  uint16_t* at = shadow + ((p - arenaBase) >> 8);
  for (size_t left = bytes; left > 0; at++) {
    size_t n = left < 256 ? left : 256;
    __atomic_store_n(at, owner < 0 ? 0 : (uint16_t)(n | (size_t)owner << 9), __ATOMIC_RELAXED);
    left -= n;
  }
}

void give(std::map<uintptr_t, Block>::iterator it) {
  uintptr_t p = it->first;
  Block b = it->second;
  mark(p, b.bytes, -1);
  uintptr_t first = p - 256;
  madvise((void*)first, (b.bytes + 512 + page - 1) / page * page, MADV_DONTNEED);
  used[b.owner] -= b.bytes;
  count(b.owner == hostOwner ? "pinned" : "allocations", -1);
  count("bytes", -(long long)b.bytes);
  freed[p] = {b.bytes, b.owner};
  freedOrder.push_back(p);
  if (freedOrder.size() > 256) {
    freed.erase(freedOrder.front());
    freedOrder.pop_front();
  }
  live.erase(it);
}
}  // namespace

void memoryBegin() {
  std::lock_guard<std::mutex> l(mutex);
  begin();
}

// An allocation starts 256 bytes into a page, so that nothing can lean on more alignment than CUDA promises, and at least 256 bytes
// that belong to nobody follow it.
void* memoryTake(size_t bytes, int owner, void* context) {
  std::lock_guard<std::mutex> l(mutex);
  begin();
  if (owner != hostOwner && (bytes > settings().memory || used[owner] > settings().memory - bytes)) return nullptr;
  size_t span = (bytes + 512 + page - 1) / page * page;
  if (next + span > arenaBase + arenaBytes) {
    report("the range of addresses is used up");
    return nullptr;
  }
  uintptr_t p = next + 256;
  next += span;
  if (settings().poison) memset((void*)p, 0xAB, bytes);
  mark(p, bytes, owner);
  live[p] = {bytes, owner, context};
  used[owner] += bytes;
  count(owner == hostOwner ? "pinned" : "allocations", 1);
  count("bytes", (long long)bytes);
  return (void*)p;
}

bool memoryGive(void* p) {
  std::lock_guard<std::mutex> l(mutex);
  auto it = live.find((uintptr_t)p);
  if (it == live.end()) return false;
  give(it);
  return true;
}

void memoryGiveAll(void* context) {
  std::lock_guard<std::mutex> l(mutex);
  for (auto it = live.begin(); it != live.end();) {
    auto at = it++;
    if (at->second.context == context) give(at);
  }
}

size_t memorySize(void* p) {
  std::lock_guard<std::mutex> l(mutex);
  auto it = live.find((uintptr_t)p);
  return it == live.end() ? 0 : it->second.bytes;
}

int memoryOwner(const void* p, size_t bytes) {
  std::lock_guard<std::mutex> l(mutex);
  auto it = live.upper_bound((uintptr_t)p);
  if (it == live.begin()) return -1;
  --it;
  uintptr_t off = (uintptr_t)p - it->first;
  return off <= it->second.bytes && bytes <= it->second.bytes - off ? it->second.owner : -1;
}

static bool inRegistered(const void* p, size_t bytes) {
  if (!registeredCount) return false;
  std::lock_guard<std::mutex> l(mutex);
  auto it = registered.upper_bound((uintptr_t)p);
  if (it == registered.begin()) return false;
  --it;
  uintptr_t off = (uintptr_t)p - it->first;
  return off <= it->second && bytes <= it->second - off;
}

bool memoryPinned(const void* p, size_t bytes) { return memoryOwner(p, bytes) == hostOwner || inRegistered(p, bytes); }

bool memoryRegistered(const void* p, size_t bytes) { return inRegistered(p, bytes); }

size_t memoryUsed(int device) {
  std::lock_guard<std::mutex> l(mutex);
  return used[device];
}

int memoryRegister(void* p, size_t bytes) {
  if (!p || !bytes) return InvalidValue;
  std::lock_guard<std::mutex> l(mutex);
  uintptr_t a = (uintptr_t)p;
  auto it = registered.lower_bound(a);
  if (it != registered.end() && it->first < a + bytes) return AlreadyRegistered;
  if (it != registered.begin()) {
    --it;
    if (it->first + it->second > a) return AlreadyRegistered;
  }
  registered[a] = bytes;
  registeredCount++;
  count("registered", 1);
  return Success;
}

int memoryUnregister(void* p) {
  std::lock_guard<std::mutex> l(mutex);
  if (!registered.erase((uintptr_t)p)) return NotRegistered;
  registeredCount--;
  count("registered", -1);
  return Success;
}

std::string memoryDescribe(const void* p) {
  std::lock_guard<std::mutex> l(mutex);
  uintptr_t a = (uintptr_t)p;
  char text[200];
  auto it = live.upper_bound(a);
  if (it != live.begin()) {
    auto b = std::prev(it);
    if (a - b->first < b->second.bytes + (1 << 20)) {
      bool inside = a - b->first < b->second.bytes;
      snprintf(text, sizeof text, "%zu bytes into an allocation of %zu bytes%s", (size_t)(a - b->first), b->second.bytes,
               !inside ? "" : b->second.owner == hostOwner ? " of the host" : ", of which it is the end or which another device owns");
      auto f = freed.upper_bound(a);
      if (inside || f == freed.begin() || std::prev(f)->first < b->first) return text;
    }
  }
  auto f = freed.upper_bound(a);
  if (f != freed.begin() && a - (--f)->first < f->second.first + 4096) {
    snprintf(text, sizeof text, "%zu bytes into memory of %zu bytes that was freed", (size_t)(a - f->first), f->second.first);
    return text;
  }
  if (it != live.end() && it->first - a < 4096) {
    snprintf(text, sizeof text, "%zu bytes before an allocation of %zu bytes", (size_t)(it->first - a), it->second.bytes);
    return text;
  }
  return a < 4096 ? "a null pointer" : "no memory of a device";
}

}  // namespace cuemu
