// What the files of the emulated driver share.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cuemu {

// The CUresult codes that the emulator gives.
enum Code {
  Success = 0, InvalidValue = 1, OutOfMemory = 2, NotInitialized = 3, InvalidDevice = 101, InvalidImage = 200, InvalidContext = 201,
  ContextInUse = 216, PeerUnsupported = 217, InvalidPtx = 218, NotFound = 500, NotReady = 600, IllegalAddress = 700, OutOfResources = 701,
  LaunchTimeout = 702, PeerAlreadyEnabled = 704, PeerNotEnabled = 705, AlreadyRegistered = 712, NotRegistered = 713, Misaligned = 716,
  LaunchFailed = 719, InvalidHandle = 400, NotSupported = 801,
};

struct Dim {
  unsigned x, y, z;
};

// settings.cpp: what the environment asks for.
struct Settings {
  uint64_t seed;      // CUEMU_SEED: order of threads and blocks; 0 is the natural order
  int devices;        // CUEMU_DEVICES
  size_t memory;      // CUEMU_MEMORY: bytes of each device
  int blocks;         // CUEMU_BLOCKS: blocks that are resident at a time
  int capability;     // CUEMU_CAPABILITY: 90 is 9.0
  double timeout;     // CUEMU_TIMEOUT: seconds that a kernel may run
  bool poison;        // CUEMU_POISON=0 leaves memory that is handed out as it is
  std::string kernels; // CUEMU_KERNELS: folder of the kernels that the builder compiled
};
const Settings& settings();
// report writes one line to the file CUEMU_LOG, or to standard error.
void report(const char* format, ...) __attribute__((format(printf, 1, 2)));
// injected is the code that cuemuFail or CUEMU_FAIL wants this call of name to end with, or 0.
int injected(const char* name);
// count adds to the number of live things of a kind, which cuemuCount reads.
void count(const char* what, long long by);

// memory.cpp: device memory and pinned host memory live in one range of addresses, with a shadow of what is valid.
const int hostOwner = 63;
void memoryBegin();
void* memoryTake(size_t bytes, int owner, void* context);
bool memoryGive(void* p);      // false when p is not the start of a live allocation
void memoryGiveAll(void* context);
size_t memorySize(void* p);    // of the allocation that starts at p, or 0
int memoryOwner(const void* p, size_t bytes); // the owner when all the bytes are valid, or -1
bool memoryPinned(const void* p, size_t bytes);
size_t memoryUsed(int device);
int memoryRegister(void* p, size_t bytes);
int memoryUnregister(void* p);
std::string memoryDescribe(const void* p);

// image.cpp: host-compiled kernels.
struct Entry { // cuemu_entry of footer.h
  const char* name;
  void (*call)(void** params);
  unsigned count;
  const unsigned* sizes;
};
struct ImageCopy {
  void* handle = nullptr;
  char *low = nullptr, *high = nullptr;             // the library in memory
  char *sharedLow = nullptr, *sharedHigh = nullptr; // its __shared__ variables
};
struct Image {
  std::string path;
  std::vector<ImageCopy> copies; // one per resident block
  std::string load(int copy);    // the error, or ""
  const Entry* entry(int copy, const std::string& name);
};
Image* imageAt(const std::string& path);
struct Indexed {
  std::string path, source;
};
const Indexed* imageOf(const std::string& entry); // by the builder's index; null when it has none of that name

struct Function {
  std::string name;
  Image* image;
  std::vector<unsigned> sizes;
  std::vector<unsigned> offsets;
  size_t shared = 0;     // static shared memory
  int maxShared = 49152; // static and dynamic, as set by cuFuncSetAttribute
  struct Module* module;
};

// run.cpp: one launch.
struct Launch {
  Function* function;
  Dim grid, block;
  unsigned dynamic;
  std::vector<char> values;   // of the parameters
  std::vector<void*> params;
  int device;
  uint64_t owners;            // bit set of the owners whose memory the kernel may touch
};
int runLaunch(Launch& launch);

// stream.cpp
struct Context;
struct Stream {
  Context* context;
  unsigned flags;
  std::mutex mutex;
  std::condition_variable changed;
  struct Op {
    std::function<int()> run;
    std::vector<std::pair<std::shared_ptr<Stream>, uint64_t>> after;
  };
  std::deque<Op> ops;
  std::atomic<uint64_t> queued{0}, done{0};
  bool closing = false, started = false;
  bool isDefault = false;
};
using StreamRef = std::shared_ptr<Stream>;
struct Event {
  unsigned flags;
  std::mutex mutex;
  StreamRef stream;
  uint64_t sequence = 0;
  std::shared_ptr<std::atomic<double>> time;
  Context* context;
};
using EventRef = std::shared_ptr<Event>;
struct Context {
  int device;
  bool primary;
  std::atomic<int> sticky{0};
  std::mutex mutex;
  std::set<StreamRef> streams;
  std::set<StreamRef> ending; // destroyed, and may have work to do
  StreamRef legacy;
  std::set<int> peers;
  std::set<struct Module*> modules;
};
StreamRef streamNew(Context* context, unsigned flags);
uint64_t streamPush(const StreamRef& stream, std::function<int()> run, std::vector<std::pair<StreamRef, uint64_t>> after = {});
void streamWait(const StreamRef& stream, uint64_t sequence);
void streamClose(const StreamRef& stream);
void contextWait(Context* context);
double now();

// handles.cpp: what the program holds are addresses in tables, so that a stale handle is an error and not a crash.
template <class T> struct Table {
  std::mutex mutex;
  std::unordered_map<void*, std::shared_ptr<T>> live;
  const char* what;
  explicit Table(const char* w) : what(w) {}
  void* put(std::shared_ptr<T> v) {
    std::lock_guard<std::mutex> l(mutex);
    live[v.get()] = v;
    count(what, 1);
    return v.get();
  }
  std::shared_ptr<T> get(void* p) {
    std::lock_guard<std::mutex> l(mutex);
    auto it = live.find(p);
    return it == live.end() ? nullptr : it->second;
  }
  std::shared_ptr<T> drop(void* p) {
    std::lock_guard<std::mutex> l(mutex);
    auto it = live.find(p);
    if (it == live.end()) return nullptr;
    auto v = it->second;
    live.erase(it);
    count(what, -1);
    return v;
  }
};
struct Module {
  Context* context;
  std::map<std::string, std::unique_ptr<Function>> functions;
  ~Module();
};
Table<Stream>& streams();
Table<Event>& events();
Table<Module>& modules();
Table<Context>& contexts();
Context* currentContext();
// streamOf resolves a handle for the current context; null is its default stream.
int streamOf(void* handle, StreamRef* out);

}  // namespace cuemu

// API begins an entry point: NAME(parameters) with the injected failures and the context's sticky error looked at first.
#define CUEMU_EXPORT extern "C" __attribute__((visibility("default")))
#define INJECT()                                                \
  do {                                                          \
    if (int injected_ = cuemu::injected(__func__)) return injected_; \
  } while (0)
// NEED_CONTEXT defines ctx, the calling thread's current context, which must be without a sticky error.
#define NEED_CONTEXT()                                   \
  INJECT();                                              \
  cuemu::Context* ctx = cuemu::currentContext();         \
  if (!ctx) return cuemu::InvalidContext;                \
  if (int sticky_ = ctx->sticky) return sticky_
