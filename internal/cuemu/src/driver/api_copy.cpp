// Copies and fills. They are done when their stream comes to them; only what CUDA does at once is done at once: a copy out of pageable
// memory reads it before the call returns, one into pageable memory is finished then.
#include "runtime.h"

using namespace cuemu;

namespace {
// touch reports whether a copy may touch these bytes of a device, when the stream comes to it.
int touch(const char* what, const void* p, size_t n) {
  if (memoryOwner(p, n) >= 0 || memoryPinned(p, n)) return 0;
  report("%s of %zu bytes at %p: %s", what, n, p, memoryDescribe(p).c_str());
  return IllegalAddress;
}

int push(const StreamRef& s, Context* ctx, std::function<int()> run) {
  streamPush(s, [=] { return ctx->sticky ? 0 : run(); });
  return Success;
}

int known(const char* call, const void* p, size_t n) {
  if (memoryOwner(p, n) >= 0 || memoryPinned(p, n)) return Success;
  report("%s of %zu bytes at %p: %s", call, n, p, memoryDescribe(p).c_str());
  return InvalidValue;
}

int toDevice(Context* ctx, const StreamRef& s, char* dst, const void* src, size_t n) {
  if (int code = known("copy to the device", dst, n)) return code;
  if (memoryPinned(src, n)) {
    return push(s, ctx, [=] {
      if (int code = touch("copy to the device", dst, n)) return code;
      if (int code = touch("copy from pinned memory", src, n)) return code;
      memcpy(dst, src, n);
      return 0;
    });
  }
  auto staged = std::make_shared<std::vector<char>>((const char*)src, (const char*)src + n);
  return push(s, ctx, [=] {
    if (int code = touch("copy to the device", dst, n)) return code;
    memcpy(dst, staged->data(), n);
    return 0;
  });
}

int toHost(Context* ctx, const StreamRef& s, void* dst, const char* src, size_t n) {
  if (int code = known("copy from the device", src, n)) return code;
  bool pinned = memoryPinned(dst, n);
  push(s, ctx, [=] {
    if (int code = touch("copy from the device", src, n)) return code;
    if (pinned)
      if (int code = touch("copy to pinned memory", dst, n)) return code;
    memcpy(dst, src, n);
    return 0;
  });
  if (pinned) return Success;
  streamWait(s, s->queued);
  return ctx->sticky;
}

int between(Context* ctx, const StreamRef& s, char* dst, const char* src, size_t n) {
  if (int code = known("copy on the device", dst, n)) return code;
  if (int code = known("copy on the device", src, n)) return code;
  return push(s, ctx, [=] {
    if (int code = touch("copy on the device", dst, n)) return code;
    if (int code = touch("copy on the device", src, n)) return code;
    if (dst < src + n && src < dst + n) {
      report("copy of %zu bytes between ranges that overlap", n);
      return (int)IllegalAddress;
    }
    memcpy(dst, src, n);
    return 0;
  });
}

template <class T> int fill(Context* ctx, const StreamRef& s, char* dst, T v, size_t n) {
  if (int code = known("fill", dst, n * sizeof v)) return code;
  if ((uintptr_t)dst % sizeof v) return InvalidValue;
  return push(s, ctx, [=] {
    if (int code = touch("fill", dst, n * sizeof v)) return code;
    for (size_t i = 0; i < n; i++) ((T*)dst)[i] = v;
    return 0;
  });
}

int finish(Context* ctx, int code) {
  if (code) return code;
  streamWait(ctx->legacy, ctx->legacy->queued);
  return ctx->sticky;
}
}  // namespace

#define NEED_STREAM(handle)                                   \
  NEED_CONTEXT();                                             \
  StreamRef stream;                                           \
  if (int code_ = streamOf(handle, &stream)) return code_

CUEMU_EXPORT int cuMemcpyHtoDAsync_v2(char* dst, const void* src, size_t n, void* s) {
  NEED_STREAM(s);
  return toDevice(ctx, stream, dst, src, n);
}
CUEMU_EXPORT int cuMemcpyDtoHAsync_v2(void* dst, const char* src, size_t n, void* s) {
  NEED_STREAM(s);
  return toHost(ctx, stream, dst, src, n);
}
CUEMU_EXPORT int cuMemcpyDtoDAsync_v2(char* dst, const char* src, size_t n, void* s) {
  NEED_STREAM(s);
  return between(ctx, stream, dst, src, n);
}
CUEMU_EXPORT int cuMemcpyPeerAsync(char* dst, void* to, const char* src, void* from, size_t n, void* s) {
  NEED_STREAM(s);
  auto a = contexts().get(to), b = contexts().get(from);
  if (!a || !b) return InvalidContext;
  if (n && (memoryOwner(dst, n) != a->device || memoryOwner(src, n) != b->device)) {
    report("cuMemcpyPeer: memory that is not of the context named");
    return InvalidValue;
  }
  return between(ctx, stream, dst, src, n);
}
CUEMU_EXPORT int cuMemcpyAsync(char* dst, const char* src, size_t n, void* s) {
  NEED_STREAM(s);
  bool d = memoryOwner(dst, n) >= 0 || memoryPinned(dst, n), f = memoryOwner(src, n) >= 0 || memoryPinned(src, n);
  if (d && f) return between(ctx, stream, dst, src, n);
  return d ? toDevice(ctx, stream, dst, src, n) : toHost(ctx, stream, dst, src, n);
}
CUEMU_EXPORT int cuMemsetD8Async(char* dst, unsigned char v, size_t n, void* s) {
  NEED_STREAM(s);
  return fill<unsigned char>(ctx, stream, dst, v, n);
}
CUEMU_EXPORT int cuMemsetD16Async(char* dst, unsigned short v, size_t n, void* s) {
  NEED_STREAM(s);
  return fill<unsigned short>(ctx, stream, dst, v, n);
}
CUEMU_EXPORT int cuMemsetD32Async(char* dst, unsigned v, size_t n, void* s) {
  NEED_STREAM(s);
  return fill<unsigned>(ctx, stream, dst, v, n);
}
CUEMU_EXPORT int cuMemcpyHtoD_v2(char* dst, const void* src, size_t n) {
  NEED_CONTEXT();
  return finish(ctx, toDevice(ctx, ctx->legacy, dst, src, n));
}
CUEMU_EXPORT int cuMemcpyDtoH_v2(void* dst, const char* src, size_t n) {
  NEED_CONTEXT();
  return finish(ctx, toHost(ctx, ctx->legacy, dst, src, n));
}
CUEMU_EXPORT int cuMemcpyDtoD_v2(char* dst, const char* src, size_t n) {
  NEED_CONTEXT();
  return between(ctx, ctx->legacy, dst, src, n);
}
CUEMU_EXPORT int cuMemcpy(char* dst, const char* src, size_t n) {
  NEED_CONTEXT();
  return finish(ctx, cuMemcpyAsync(dst, src, n, nullptr));
}
CUEMU_EXPORT int cuMemcpyPeer(char* dst, void* to, const char* src, void* from, size_t n) {
  NEED_CONTEXT();
  return finish(ctx, cuMemcpyPeerAsync(dst, to, src, from, n, nullptr));
}
CUEMU_EXPORT int cuMemsetD8_v2(char* dst, unsigned char v, size_t n) {
  NEED_CONTEXT();
  return fill<unsigned char>(ctx, ctx->legacy, dst, v, n);
}
CUEMU_EXPORT int cuMemsetD16_v2(char* dst, unsigned short v, size_t n) {
  NEED_CONTEXT();
  return fill<unsigned short>(ctx, ctx->legacy, dst, v, n);
}
CUEMU_EXPORT int cuMemsetD32_v2(char* dst, unsigned v, size_t n) {
  NEED_CONTEXT();
  return fill<unsigned>(ctx, ctx->legacy, dst, v, n);
}
