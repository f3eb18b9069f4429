// Memory: of the device, in the order of a stream, pinned on the host, registered.
#include "runtime.h"

using namespace cuemu;

namespace {
struct Pool {
  int device;
};
Table<Pool>& pools() { static auto* t = new Table<Pool>("pools"); return *t; }
Pool* defaultPool(int device) {
  static std::mutex mutex;
  static std::map<int, std::shared_ptr<Pool>> all;
  std::lock_guard<std::mutex> l(mutex);
  auto& p = all[device];
  if (!p) p = std::make_shared<Pool>(Pool{device});
  return p.get();
}

int take(void** out, size_t bytes, Context* ctx, int device) {
  if (!bytes) return InvalidValue;
  void* p = memoryTake(bytes, device, ctx);
  if (!p) {
    // What streams will give back counts as free, as a driver that is short of memory waits for it.
    contextWait(ctx);
    p = memoryTake(bytes, device, ctx);
  }
  if (!p) return OutOfMemory;
  *out = p;
  return Success;
}
}  // namespace

CUEMU_EXPORT int cuMemGetInfo_v2(size_t* available, size_t* total) {
  NEED_CONTEXT();
  *total = settings().memory;
  *available = *total - memoryUsed(ctx->device);
  return Success;
}
CUEMU_EXPORT int cuMemAlloc_v2(void** out, size_t bytes) {
  NEED_CONTEXT();
  return take(out, bytes, ctx, ctx->device);
}
// cuMemFree waits until nothing uses the memory any more: for the whole context.
CUEMU_EXPORT int cuMemFree_v2(void* p) {
  NEED_CONTEXT();
  if (!p) return Success;
  contextWait(ctx);
  int owner = memoryOwner(p, 0);
  if (owner < 0 || owner == hostOwner || !memoryGive(p)) {
    report("cuMemFree of %p, which is not the start of a live allocation", p);
    return InvalidValue;
  }
  return ctx->sticky;
}
CUEMU_EXPORT int cuMemAllocAsync(void** out, size_t bytes, void* s) {
  NEED_CONTEXT();
  StreamRef stream;
  if (int code = streamOf(s, &stream)) return code;
  return take(out, bytes, ctx, ctx->device);
}
CUEMU_EXPORT int cuMemAllocFromPoolAsync(void** out, size_t bytes, void* pool, void* s) {
  NEED_CONTEXT();
  StreamRef stream;
  if (int code = streamOf(s, &stream)) return code;
  auto p = pools().get(pool);
  if (!p && pool != defaultPool(ctx->device)) return InvalidValue;
  return take(out, bytes, ctx, p ? p->device : ctx->device);
}
CUEMU_EXPORT int cuMemFreeAsync(void* p, void* s) {
  NEED_CONTEXT();
  StreamRef stream;
  if (int code = streamOf(s, &stream)) return code;
  if (!p) return Success;
  if (!memorySize(p)) {
    report("cuMemFreeAsync of %p, which is not the start of a live allocation", p);
    return InvalidValue;
  }
  streamPush(stream, [=] {
    if (!memoryGive(p)) report("memory %p was freed twice in stream order", p);
    return 0;
  });
  return Success;
}
CUEMU_EXPORT int cuDeviceGetDefaultMemPool(void** out, int d) {
  INJECT();
  *out = defaultPool(d);
  return Success;
}
CUEMU_EXPORT int cuDeviceGetMemPool(void** out, int d) { return cuDeviceGetDefaultMemPool(out, d); }
struct PoolProps {
  int allocation, handles, locationType, locationId;
};
CUEMU_EXPORT int cuMemPoolCreate(void** out, const PoolProps* props) {
  INJECT();
  if (props->allocation != 1 || props->locationType != 1 || props->locationId < 0 || props->locationId >= settings().devices) return InvalidValue;
  *out = pools().put(std::make_shared<Pool>(Pool{props->locationId}));
  return Success;
}
CUEMU_EXPORT int cuMemPoolDestroy(void* h) {
  INJECT();
  return pools().drop(h) ? Success : InvalidValue;
}
CUEMU_EXPORT int cuMemPoolSetAttribute(void* h, int, void*) {
  INJECT();
  return h ? Success : InvalidValue;
}
CUEMU_EXPORT int cuMemPoolGetAttribute(void* h, int, void* v) {
  INJECT();
  if (!h) return InvalidValue;
  *(uint64_t*)v = 0;
  return Success;
}
CUEMU_EXPORT int cuMemPoolSetAccess(void* h, const void*, size_t) {
  INJECT();
  return h ? Success : InvalidValue;
}
CUEMU_EXPORT int cuMemPoolTrimTo(void* h, size_t) {
  INJECT();
  return h ? Success : InvalidValue;
}

CUEMU_EXPORT int cuMemHostAlloc(void** out, size_t bytes, unsigned) {
  NEED_CONTEXT();
  if (!bytes) return InvalidValue;
  *out = memoryTake(bytes, hostOwner, ctx);
  return *out ? Success : OutOfMemory;
}
CUEMU_EXPORT int cuMemAllocHost_v2(void** out, size_t bytes) { return cuMemHostAlloc(out, bytes, 0); }
CUEMU_EXPORT int cuMemAllocManaged(void** out, size_t bytes, unsigned) { return cuMemHostAlloc(out, bytes, 0); }
CUEMU_EXPORT int cuMemFreeHost(void* p) {
  NEED_CONTEXT();
  contextWait(ctx);
  if (memoryOwner(p, 0) != hostOwner || !memoryGive(p)) {
    report("cuMemFreeHost of %p, which is not the start of live pinned memory", p);
    return InvalidValue;
  }
  return ctx->sticky;
}
CUEMU_EXPORT int cuMemHostGetDevicePointer_v2(void** out, void* p, unsigned) {
  NEED_CONTEXT();
  if (!memoryPinned(p, 1)) return InvalidValue;
  *out = p;
  return Success;
}
CUEMU_EXPORT int cuMemHostGetFlags(unsigned* out, void* p) {
  NEED_CONTEXT();
  if (!memoryPinned(p, 1)) return InvalidValue;
  *out = 0;
  return Success;
}
CUEMU_EXPORT int cuMemHostRegister_v2(void* p, size_t bytes, unsigned) {
  NEED_CONTEXT();
  return memoryRegister(p, bytes);
}
CUEMU_EXPORT int cuMemHostUnregister(void* p) {
  NEED_CONTEXT();
  contextWait(ctx);
  return memoryUnregister(p);
}
CUEMU_EXPORT int cuPointerGetAttribute(void* out, int attribute, void* p) {
  INJECT();
  int owner = memoryOwner(p, 1);
  bool host = owner == hostOwner || (owner < 0 && memoryPinned(p, 1));
  if (owner < 0 && !host) return InvalidValue;
  switch (attribute) {
    case 2: *(unsigned*)out = host ? 1 : 2; return Success; // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
    case 3:
    case 4: *(void**)out = p; return Success;               // device and host pointer
    case 9: *(int*)out = host ? 0 : owner; return Success;  // device ordinal
    default: return NotSupported;
  }
}
