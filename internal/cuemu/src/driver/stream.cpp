// Streams: a thread each, which does what was queued, in order, once what it has to come after is done.
#include <chrono>
#include <thread>
#include "runtime.h"

namespace cuemu {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

StreamRef streamNew(Context* context, unsigned flags) {
  auto s = std::make_shared<Stream>();
  s->context = context, s->flags = flags;
  return s;
}

// work is the life of a stream's thread. A context with a sticky error does no more work, but what was queued counts as done, so that
// nobody waits for it for ever.
static void work(StreamRef s) {
  uint64_t random = settings().seed * 2654435761u + 1;
  std::unique_lock<std::mutex> l(s->mutex);
  for (;;) {
    s->changed.wait(l, [&] { return s->closing || !s->ops.empty(); });
    if (s->ops.empty()) return;
    Stream::Op op = std::move(s->ops.front());
    s->ops.pop_front();
    l.unlock();
    for (auto& a : op.after) streamWait(a.first, a.second);
    random = random * 6364136223846793005u + 1442695040888963407u;
    if (settings().seed && (random >> 60) == 0) std::this_thread::sleep_for(std::chrono::microseconds((random >> 40) & 127));
    // The operation looks at the sticky error itself: memory is given back in a context that has one, too.
    int code = op.run();
    op = Stream::Op();
    if (code) {
      int none = 0;
      s->context->sticky.compare_exchange_strong(none, code);
    }
    l.lock();
    s->done++;
    s->changed.notify_all();
  }
}

uint64_t streamPush(const StreamRef& s, std::function<int()> run, std::vector<std::pair<StreamRef, uint64_t>> after) {
  // The default stream comes after all other streams of the context that are not cuStreamNonBlocking, and they after it.
  Context* c = s->context;
  if (s->isDefault) {
    std::lock_guard<std::mutex> l(c->mutex);
    for (auto& o : c->streams)
      if (!(o->flags & 1)) after.push_back({o, o->queued});
  } else if (!(s->flags & 1) && c->legacy && c->legacy->queued > c->legacy->done) {
    after.push_back({c->legacy, c->legacy->queued});
  }
  std::lock_guard<std::mutex> l(s->mutex);
  if (!s->started) {
    s->started = true;
    std::thread(work, s).detach();
  }
  s->ops.push_back({std::move(run), std::move(after)});
  uint64_t n = ++s->queued;
  s->changed.notify_all();
  return n;
}

void streamWait(const StreamRef& s, uint64_t n) {
  if (s->done >= n) return;
  std::unique_lock<std::mutex> l(s->mutex);
  s->changed.wait(l, [&] { return s->done >= n; });
}

void streamClose(const StreamRef& s) {
  std::lock_guard<std::mutex> l(s->mutex);
  s->closing = true;
  s->changed.notify_all();
}

void contextWait(Context* c) {
  std::vector<StreamRef> all;
  {
    std::lock_guard<std::mutex> l(c->mutex);
    all.assign(c->streams.begin(), c->streams.end());
    all.insert(all.end(), c->ending.begin(), c->ending.end());
    all.push_back(c->legacy);
  }
  for (auto& s : all) streamWait(s, s->queued);
}

}  // namespace cuemu
