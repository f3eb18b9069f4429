// An emulated NCCL over the emulated CUDA driver: see doc.go beside this folder.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
enum { Success = 0, InvalidArgument = 4, InvalidUsage = 5, InProgress = 7 };
enum Kind { AllReduce, Reduce, ReduceScatter, Broadcast, AllGather, Send, Recv };
const size_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

struct Driver {
  int (*launchHost)(void*, void (*)(void*), void*);
  int (*getCurrent)(void**);
  int (*push)(void*);
  int (*pop)(void**);
  int (*getDevice)(int*);
};
const Driver& driver() {
  static Driver d = [] {
    void* lib = dlopen("libcuda.so.1", RTLD_NOW);
    auto at = [&](const char* name) { return lib ? dlsym(lib, name) : nullptr; };
    Driver d;
    d.launchHost = reinterpret_cast<decltype(d.launchHost)>(at("cuLaunchHostFunc"));
    d.getCurrent = reinterpret_cast<decltype(d.getCurrent)>(at("cuCtxGetCurrent"));
    d.push = reinterpret_cast<decltype(d.push)>(at("cuCtxPushCurrent_v2"));
    d.pop = reinterpret_cast<decltype(d.pop)>(at("cuCtxPopCurrent_v2"));
    d.getDevice = reinterpret_cast<decltype(d.getDevice)>(at("cuCtxGetDevice"));
    return d;
  }();
  return d;
}

struct Work {
  Kind kind;
  const void* from;
  void* to;
  size_t count;
  int type, op, peer;
  bool same(const Work& o) const { return kind == o.kind && count == o.count && type == o.type && op == o.op && peer == o.peer; }
};

// A collective that ranks have come to, by its number in the communicator.
struct Meeting {
  std::map<int, Work> here;
  bool done = false;
  int left = 0;
};
struct Message {
  const void* from;
  size_t bytes;
  bool taken = false;
};
struct World {
  int size = 0;
  std::set<int> joined, begun, finalized, devices;
  bool doubled = false;
  std::map<uint64_t, Meeting> meetings;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> mail;
};
std::mutex all;  // everything below and all worlds
std::condition_variable changed;
std::map<uint64_t, std::shared_ptr<World>> worlds;
std::map<int, int> faults;
bool hang = false;
int comms = 0, calls = 0;
uint64_t ids = 0;

struct Comm {
  std::shared_ptr<World> world;
  int rank = 0;
  bool connecting = false, connected = false, aborted = false, finalizing = false;
  int running = 0;
  uint64_t number = 0;  // of collectives run
};

template <class T>
T combine(int op, T a, T b) {
  switch (op) {
    case 1: return T(a * b);
    case 2: return b > a ? b : a;
    case 3: return b < a ? b : a;
    default: return T(a + b);
  }
}
struct BFloat {
  uint16_t bits;
  BFloat() = default;
  BFloat(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    bits = uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16);
  }
  operator float() const {
    uint32_t u = uint32_t(bits) << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
  }
};
template <class T>
void fold(const std::vector<const char*>& from, size_t offset, char* to, size_t count, int op) {
  for (size_t i = 0; i < count; i++) {
    T sum, x;
    memcpy(&sum, from[0] + offset + i * sizeof(T), sizeof(T));
    for (size_t r = 1; r < from.size(); r++) {
      memcpy(&x, from[r] + offset + i * sizeof(T), sizeof(T));
      sum = combine<T>(op, sum, x);
    }
    if (op == 4) sum = T(sum / T(float(from.size())));
    memcpy(to + i * sizeof(T), &sum, sizeof(T));
  }
}
void foldOf(int type, const std::vector<const char*>& from, size_t offset, char* to, size_t count, int op) {
  switch (type) {
    case 0: return fold<int8_t>(from, offset, to, count, op);
    case 1: return fold<uint8_t>(from, offset, to, count, op);
    case 2: return fold<int32_t>(from, offset, to, count, op);
    case 3: return fold<uint32_t>(from, offset, to, count, op);
    case 4: return fold<int64_t>(from, offset, to, count, op);
    case 5: return fold<uint64_t>(from, offset, to, count, op);
    case 6: return fold<_Float16>(from, offset, to, count, op);
    case 7: return fold<float>(from, offset, to, count, op);
    case 8: return fold<double>(from, offset, to, count, op);
    default: return fold<BFloat>(from, offset, to, count, op);
  }
}

// What the last rank to come does for all. Results are made aside: inputs may be outputs.
void carryOut(World& w, Meeting& m) {
  const Work& a = m.here.begin()->second;
  size_t bytes = a.count * widths[a.type];
  std::vector<const char*> from;
  for (auto& h : m.here) from.push_back(static_cast<const char*>(h.second.from));
  std::vector<std::vector<char>> results(w.size);
  for (int r = 0; r < w.size; r++) {
    auto& out = results[r];
    switch (a.kind) {
      case Reduce:
        if (r != a.peer) break;  // else as AllReduce
        [[fallthrough]];
      case AllReduce:
        out.resize(bytes);
        foldOf(a.type, from, 0, out.data(), a.count, a.op);
        break;
      case ReduceScatter:
        out.resize(bytes);
        foldOf(a.type, from, r * bytes, out.data(), a.count, a.op);
        break;
      case Broadcast: out.assign(from[a.peer], from[a.peer] + bytes); break;
      case AllGather:
        for (auto p : from) out.insert(out.end(), p, p + bytes);
        break;
      default: break;
    }
  }
  for (auto& h : m.here)
    if (!results[h.first].empty()) memcpy(h.second.to, results[h.first].data(), results[h.first].size());
}

void collective(std::unique_lock<std::mutex>& lock, Comm* c, const Work& work) {
  World& w = *c->world;
  uint64_t number = c->number++;
  Meeting& m = w.meetings[number];
  m.here[c->rank] = work;
  bool same = true;
  for (auto& h : m.here) same = same && h.second.same(work);
  if (int(m.here.size()) == w.size && same) {
    carryOut(w, m);
    m.done = true;
    changed.notify_all();
  }
  changed.wait(lock, [&] { return m.done || c->aborted; });
  if (m.done && ++m.left == w.size) w.meetings.erase(number);
}

void messages(std::unique_lock<std::mutex>& lock, Comm* c, const std::vector<Work>& list) {
  World& w = *c->world;
  std::vector<std::shared_ptr<Message>> sent;
  for (auto& k : list)
    if (k.kind == Send) {
      sent.push_back(std::make_shared<Message>(Message{k.from, k.count * widths[k.type]}));
      w.mail[{c->rank, k.peer}].push_back(sent.back());
    }
  changed.notify_all();
  for (auto& k : list)
    if (k.kind == Recv) {
      auto& box = w.mail[{k.peer, c->rank}];
      size_t bytes = k.count * widths[k.type];
      changed.wait(lock, [&] { return c->aborted || (!box.empty() && box.front()->bytes == bytes); });
      if (c->aborted) return;
      memmove(k.to, box.front()->from, bytes);
      box.front()->taken = true;
      box.pop_front();
      changed.notify_all();
    }
  for (auto& s : sent) changed.wait(lock, [&] { return s->taken || c->aborted; });
}

struct Job {
  Comm* comm;
  std::vector<Work> list;
};
void run(void* p) {
  std::unique_ptr<Job> job(static_cast<Job*>(p));
  Comm* c = job->comm;
  std::unique_lock<std::mutex> lock(all);
  if (!c->aborted) {
    if (job->list[0].kind == Send || job->list[0].kind == Recv)
      messages(lock, c, job->list);
    else
      for (auto& k : job->list) collective(lock, c, k);
  }
  c->running--;
  changed.notify_all();
}

// launch gives a job to its stream; that of the first operation later, and where all
// ranks take part when all have begun theirs.
int launch(Comm* c, void* stream, std::vector<Work> list) {
  auto job = new Job{c, std::move(list)};
  std::unique_lock<std::mutex> lock(all);
  calls++;
  c->running++;
  c->world->begun.insert(c->rank);
  changed.notify_all();
  if (c->connected) {
    lock.unlock();
    driver().launchHost(stream, run, job);
    return Success;
  }
  c->connecting = true;
  bool everyone = job->list[0].kind != Send && job->list[0].kind != Recv;
  void* context = nullptr;
  driver().getCurrent(&context);
  std::thread([=] {
    std::unique_lock<std::mutex> lock(all);
    changed.wait(lock, [&] { return c->aborted || !everyone || int(c->world->begun.size()) == c->world->size; });
    bool go = !c->aborted;
    if (!go) c->running--;
    lock.unlock();
    if (go) {
      void* popped;
      driver().push(context);
      driver().launchHost(stream, run, job);
      driver().pop(&popped);
    } else {
      delete job;
    }
    lock.lock();
    c->connecting = false, c->connected = true;
    changed.notify_all();
  }).detach();
  return InProgress;
}

thread_local int depth = 0;
thread_local std::vector<Work> grouped;
thread_local Comm* groupComm;
thread_local void* groupStream;

int add(Comm* c, void* stream, Work w) {
  if (!c || w.type < 0 || w.type > 9 || (w.op < 0 || w.op > 4) || w.peer < 0 || w.peer >= c->world->size) return InvalidArgument;
  if (depth == 0) return launch(c, stream, {w});
  grouped.push_back(w), groupComm = c, groupStream = stream;
  return Success;
}

struct ID {
  char bytes[128];
};
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};
}  // namespace

EXPORT int ncclGetVersion(int* v) { return *v = 22703, Success; }
EXPORT const char* ncclGetErrorString(int r) { return r == 6 ? "remote process exited or there was a network error" : r == 5 ? "invalid usage" : "an error"; }
EXPORT const char* ncclGetLastError(void*) { return "emulated"; }
EXPORT int ncclGetUniqueId(ID* id) {
  std::lock_guard<std::mutex> lock(all);
  memset(id, 0x5a, sizeof *id);
  uint64_t n = ++ids;
  memcpy(id->bytes, &n, 8), memcpy(id->bytes + 120, &n, 8);
  return Success;
}
EXPORT int ncclCommInitRankConfig(void** out, int size, ID id, int rank, Config* config) {
  uint64_t n, again;
  memcpy(&n, id.bytes, 8), memcpy(&again, id.bytes + 120, 8);
  if (!out || n == 0 || n != again || id.bytes[64] != 0x5a || config->magic != 0xcafebeef || config->blocking != 0 || rank < 0 || rank >= size)
    return InvalidArgument;
  int device = -1;
  if (driver().getDevice(&device)) return 1;
  std::lock_guard<std::mutex> lock(all);
  auto& w = worlds[n];
  if (!w) w = std::make_shared<World>();
  w->size = size;
  if (!w->devices.insert(device).second) w->doubled = true;
  w->joined.insert(rank);
  auto c = new Comm;
  c->world = w, c->rank = rank;
  *out = c;
  comms++;
  changed.notify_all();
  return InProgress;
}
EXPORT int ncclCommGetAsyncError(Comm* c, int* state) {
  std::lock_guard<std::mutex> lock(all);
  auto f = faults.find(c->rank);
  if (f != faults.end())
    *state = f->second;
  else if (c->world->doubled)
    *state = InvalidUsage;
  else if (c->connecting || int(c->world->joined.size()) < c->world->size || (c->finalizing && int(c->world->finalized.size()) < c->world->size))
    *state = InProgress;
  else
    *state = Success;
  return Success;
}
EXPORT int ncclCommFinalize(Comm* c) {
  std::lock_guard<std::mutex> lock(all);
  c->finalizing = true;
  c->world->finalized.insert(c->rank);
  return int(c->world->finalized.size()) < c->world->size ? InProgress : Success;
}
static int drop(Comm* c) {
  std::unique_lock<std::mutex> lock(all);
  changed.wait(lock, [&] { return c->running == 0 && !c->connecting; });
  comms--;
  lock.unlock();
  delete c;
  return Success;
}
EXPORT int ncclCommDestroy(Comm* c) { return drop(c); }
EXPORT int ncclCommAbort(Comm* c) {
  {
    std::unique_lock<std::mutex> lock(all);
    changed.wait(lock, [] { return !hang; });
    c->aborted = true;
    changed.notify_all();
  }
  return drop(c);
}
EXPORT int ncclGroupStart() { return depth++, Success; }
EXPORT int ncclGroupEnd() {
  if (depth == 0) return InvalidUsage;
  if (--depth > 0 || grouped.empty()) return Success;
  return launch(groupComm, groupStream, std::move(grouped));
}
EXPORT int ncclAllReduce(const void* a, void* b, size_t n, int t, int op, Comm* c, void* s) { return add(c, s, {AllReduce, a, b, n, t, op, 0}); }
EXPORT int ncclReduce(const void* a, void* b, size_t n, int t, int op, int root, Comm* c, void* s) { return add(c, s, {Reduce, a, b, n, t, op, root}); }
EXPORT int ncclReduceScatter(const void* a, void* b, size_t n, int t, int op, Comm* c, void* s) { return add(c, s, {ReduceScatter, a, b, n, t, op, 0}); }
EXPORT int ncclBroadcast(const void* a, void* b, size_t n, int t, int root, Comm* c, void* s) { return add(c, s, {Broadcast, a, b, n, t, 0, root}); }
EXPORT int ncclAllGather(const void* a, void* b, size_t n, int t, Comm* c, void* s) { return add(c, s, {AllGather, a, b, n, t, 0, 0}); }
EXPORT int ncclSend(const void* a, size_t n, int t, int peer, Comm* c, void* s) { return add(c, s, {Send, a, nullptr, n, t, 0, peer}); }
EXPORT int ncclRecv(void* b, size_t n, int t, int peer, Comm* c, void* s) { return add(c, s, {Recv, nullptr, b, n, t, 0, peer}); }

EXPORT void ncclemuFault(int rank, int code) {
  std::lock_guard<std::mutex> lock(all);
  if (code)
    faults[rank] = code;
  else
    faults.erase(rank);
}
EXPORT void ncclemuHang(int yes) {
  std::lock_guard<std::mutex> lock(all);
  hang = yes;
  changed.notify_all();
}
EXPORT int ncclemuComms() {
  std::lock_guard<std::mutex> lock(all);
  return comms;
}
EXPORT int ncclemuCalls() {
  std::lock_guard<std::mutex> lock(all);
  return calls;
}
