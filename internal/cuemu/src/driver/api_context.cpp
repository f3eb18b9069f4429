// Contexts: a primary one for each device, others by cuCtxCreate, and the stack of current ones that each thread has.
#include "runtime.h"

namespace cuemu {

namespace {
const int maxDevices = 32;
std::mutex mutex;
struct Primary {
  std::shared_ptr<Context> context;
  int held = 0;
  unsigned flags = 0;
} primaries[maxDevices];

thread_local std::vector<Context*> current;

std::shared_ptr<Context> make(int device, bool primary) {
  auto c = std::make_shared<Context>();
  c->device = device, c->primary = primary;
  c->legacy = streamNew(c.get(), 0);
  c->legacy->isDefault = true;
  // A stream's thread may still look at its context after the program is done with it, so contexts stay.
  static auto* all = new std::vector<std::shared_ptr<Context>>;
  all->push_back(c);
  return c;
}

// empty gives back all that lives in a context.
void empty(Context* c) {
  contextWait(c);
  std::vector<StreamRef> old;
  std::set<Module*> loaded;
  {
    std::lock_guard<std::mutex> l(c->mutex);
    old.assign(c->streams.begin(), c->streams.end());
    c->streams.clear();
    c->ending.clear();
    loaded.swap(c->modules);
    c->peers.clear();
  }
  for (auto& s : old) streamClose(s), streams().drop(s.get());
  for (auto m : loaded) modules().drop(m);
  memoryGiveAll(c);
  c->sticky = 0;
}
bool isDevice(int d) { return d >= 0 && d < settings().devices && d < maxDevices; }
}  // namespace

Table<Stream>& streams() { static auto* t = new Table<Stream>("streams"); return *t; }
Table<Event>& events() { static auto* t = new Table<Event>("events"); return *t; }
Table<Module>& modules() { static auto* t = new Table<Module>("modules"); return *t; }
Table<Context>& contexts() { static auto* t = new Table<Context>("contexts"); return *t; }

Context* currentContext() {
  if (current.empty() || !current.back()) return nullptr;
  return contexts().get(current.back()) ? current.back() : nullptr;
}

}  // namespace cuemu

using namespace cuemu;

CUEMU_EXPORT int cuDevicePrimaryCtxRetain(void** out, int d) {
  INJECT();
  if (!isDevice(d)) return InvalidDevice;
  std::lock_guard<std::mutex> l(mutex);
  Primary& p = primaries[d];
  if (!p.context) p.context = make(d, true);
  if (p.context->sticky && p.held) return p.context->sticky;
  if (p.held++ == 0) contexts().put(p.context);
  *out = p.context.get();
  return Success;
}
CUEMU_EXPORT int cuDevicePrimaryCtxRelease_v2(int d) {
  INJECT();
  if (!isDevice(d)) return InvalidDevice;
  std::lock_guard<std::mutex> l(mutex);
  Primary& p = primaries[d];
  if (p.held == 0) return InvalidContext;
  if (--p.held == 0) {
    empty(p.context.get());
    contexts().drop(p.context.get());
  }
  return Success;
}
CUEMU_EXPORT int cuDevicePrimaryCtxReset_v2(int d) {
  INJECT();
  if (!isDevice(d)) return InvalidDevice;
  std::lock_guard<std::mutex> l(mutex);
  if (primaries[d].context) empty(primaries[d].context.get());
  return Success;
}
CUEMU_EXPORT int cuDevicePrimaryCtxSetFlags_v2(int d, unsigned flags) {
  INJECT();
  if (!isDevice(d)) return InvalidDevice;
  primaries[d].flags = flags;
  return Success;
}
CUEMU_EXPORT int cuDevicePrimaryCtxGetState(int d, unsigned* flags, int* active) {
  INJECT();
  if (!isDevice(d)) return InvalidDevice;
  *flags = primaries[d].flags;
  *active = primaries[d].held > 0;
  return Success;
}
CUEMU_EXPORT int cuCtxCreate_v2(void** out, unsigned, int d) {
  INJECT();
  if (!isDevice(d)) return InvalidDevice;
  std::lock_guard<std::mutex> l(mutex);
  auto c = make(d, false);
  *out = contexts().put(c);
  current.push_back(c.get());
  return Success;
}
CUEMU_EXPORT int cuCtxDestroy_v2(void* h) {
  INJECT();
  auto c = contexts().get(h);
  if (!c || c->primary) return InvalidContext;
  empty(c.get());
  contexts().drop(h);
  if (!current.empty() && current.back() == h) current.pop_back();
  return Success;
}
CUEMU_EXPORT int cuCtxPushCurrent_v2(void* h) {
  INJECT();
  if (!contexts().get(h)) return InvalidContext;
  current.push_back((Context*)h);
  return Success;
}
CUEMU_EXPORT int cuCtxPopCurrent_v2(void** out) {
  INJECT();
  if (current.empty()) return InvalidContext;
  if (out) *out = current.back();
  current.pop_back();
  return Success;
}
CUEMU_EXPORT int cuCtxSetCurrent(void* h) {
  INJECT();
  if (h && !contexts().get(h)) return InvalidContext;
  if (!current.empty()) current.pop_back();
  if (h) current.push_back((Context*)h);
  return Success;
}
CUEMU_EXPORT int cuCtxGetCurrent(void** out) {
  INJECT();
  *out = currentContext();
  return Success;
}
CUEMU_EXPORT int cuCtxGetDevice(int* d) {
  NEED_CONTEXT();
  *d = ctx->device;
  return Success;
}
CUEMU_EXPORT int cuCtxGetApiVersion(void*, unsigned* v) {
  *v = 3020;
  return Success;
}
CUEMU_EXPORT int cuCtxSynchronize() {
  NEED_CONTEXT();
  contextWait(ctx);
  return ctx->sticky;
}
CUEMU_EXPORT int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  NEED_CONTEXT();
  *least = 0, *greatest = -5;
  return Success;
}
CUEMU_EXPORT int cuCtxEnablePeerAccess(void* peer, unsigned) {
  NEED_CONTEXT();
  auto p = contexts().get(peer);
  if (!p) return InvalidContext;
  if (p->device == ctx->device) return InvalidDevice;
  std::lock_guard<std::mutex> l(ctx->mutex);
  return ctx->peers.insert(p->device).second ? Success : PeerAlreadyEnabled;
}
CUEMU_EXPORT int cuCtxDisablePeerAccess(void* peer) {
  NEED_CONTEXT();
  auto p = contexts().get(peer);
  if (!p) return InvalidContext;
  std::lock_guard<std::mutex> l(ctx->mutex);
  return ctx->peers.erase(p->device) ? Success : PeerNotEnabled;
}
