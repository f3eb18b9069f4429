// Streams, events and functions of the host in a stream.
#include "runtime.h"

using namespace cuemu;

int cuemu::streamOf(void* handle, StreamRef* out) {
  Context* ctx = currentContext();
  if (!ctx) return InvalidContext;
  if (handle == nullptr || handle == (void*)1 || handle == (void*)2) {
    *out = ctx->legacy;
    return Success;
  }
  auto s = streams().get(handle);
  if (!s || s->context != ctx) return InvalidHandle;
  *out = s;
  return Success;
}

#define NEED_STREAM(handle)                                   \
  NEED_CONTEXT();                                             \
  StreamRef stream;                                           \
  if (int code_ = streamOf(handle, &stream)) return code_

CUEMU_EXPORT int cuStreamCreate(void** out, unsigned flags) {
  NEED_CONTEXT();
  if (flags & ~1u) return InvalidValue;
  auto s = streamNew(ctx, flags);
  {
    std::lock_guard<std::mutex> l(ctx->mutex);
    ctx->streams.insert(s);
  }
  *out = streams().put(s);
  return Success;
}
CUEMU_EXPORT int cuStreamCreateWithPriority(void** out, unsigned flags, int) { return cuStreamCreate(out, flags); }
CUEMU_EXPORT int cuStreamDestroy_v2(void* h) {
  INJECT();
  auto s = streams().drop(h);
  if (!s) return InvalidHandle;
  {
    Context* c = s->context;
    std::lock_guard<std::mutex> l(c->mutex);
    c->streams.erase(s);
    // What it was given is still done, and who waits for the context waits for that too.
    for (auto it = c->ending.begin(); it != c->ending.end();) it = (*it)->done == (*it)->queued ? c->ending.erase(it) : std::next(it);
    if (s->done < s->queued) c->ending.insert(s);
  }
  streamClose(s);
  return Success;
}
CUEMU_EXPORT int cuStreamSynchronize(void* h) {
  NEED_STREAM(h);
  streamWait(stream, stream->queued);
  return ctx->sticky;
}
CUEMU_EXPORT int cuStreamQuery(void* h) {
  NEED_STREAM(h);
  return stream->done >= stream->queued ? Success : NotReady;
}
CUEMU_EXPORT int cuStreamWaitEvent(void* h, void* e, unsigned) {
  NEED_STREAM(h);
  auto event = events().get(e);
  if (!event) return InvalidHandle;
  std::pair<StreamRef, uint64_t> after;
  {
    std::lock_guard<std::mutex> l(event->mutex);
    after = {event->stream, event->sequence};
  }
  if (after.first && after.first != stream) streamPush(stream, [] { return 0; }, {after});
  return Success;
}
CUEMU_EXPORT int cuStreamGetCtx(void* h, void** out) {
  NEED_STREAM(h);
  *out = stream->context;
  return Success;
}
CUEMU_EXPORT int cuStreamGetFlags(void* h, unsigned* out) {
  NEED_STREAM(h);
  *out = stream->flags;
  return Success;
}
CUEMU_EXPORT int cuStreamGetPriority(void* h, int* out) {
  NEED_STREAM(h);
  *out = 0;
  return Success;
}
CUEMU_EXPORT int cuLaunchHostFunc(void* h, void (*f)(void*), void* data) {
  NEED_STREAM(h);
  streamPush(stream, [=] {
    if (!ctx->sticky) f(data);
    return 0;
  });
  return Success;
}

CUEMU_EXPORT int cuEventCreate(void** out, unsigned flags) {
  NEED_CONTEXT();
  if (flags & ~7u) return InvalidValue;
  auto e = std::make_shared<Event>();
  e->flags = flags, e->context = ctx;
  *out = events().put(e);
  return Success;
}
CUEMU_EXPORT int cuEventDestroy_v2(void* h) {
  INJECT();
  return events().drop(h) ? Success : InvalidHandle;
}
CUEMU_EXPORT int cuEventRecord(void* h, void* s) {
  NEED_STREAM(s);
  auto e = events().get(h);
  if (!e || e->context != ctx) return InvalidHandle;
  auto time = std::make_shared<std::atomic<double>>(0.0);
  uint64_t n = streamPush(stream, [=] {
    *time = now();
    return 0;
  });
  std::lock_guard<std::mutex> l(e->mutex);
  e->stream = stream, e->sequence = n, e->time = time;
  return Success;
}
CUEMU_EXPORT int cuEventQuery(void* h) {
  INJECT();
  auto e = events().get(h);
  if (!e) return InvalidHandle;
  if (int sticky = e->context->sticky) return sticky;
  std::lock_guard<std::mutex> l(e->mutex);
  return !e->stream || e->stream->done >= e->sequence ? Success : NotReady;
}
CUEMU_EXPORT int cuEventSynchronize(void* h) {
  INJECT();
  auto e = events().get(h);
  if (!e) return InvalidHandle;
  StreamRef s;
  uint64_t n;
  {
    std::lock_guard<std::mutex> l(e->mutex);
    s = e->stream, n = e->sequence;
  }
  if (s) streamWait(s, n);
  return e->context->sticky;
}
CUEMU_EXPORT int cuEventElapsedTime(float* ms, void* a, void* b) {
  INJECT();
  auto x = events().get(a), y = events().get(b);
  if (!x || !y) return InvalidHandle;
  if ((x->flags | y->flags) & 2 || !x->stream || !y->stream) return InvalidHandle;
  if (x->stream->done < x->sequence || y->stream->done < y->sequence) return NotReady;
  *ms = (float)((*y->time - *x->time) * 1e3);
  return Success;
}
CUEMU_EXPORT int cuEventElapsedTime_v2(float* ms, void* a, void* b) { return cuEventElapsedTime(ms, a, b); }
