// Modules, functions and launches.
#include <algorithm>
#include "ptx.h"
#include "runtime.h"

using namespace cuemu;

namespace {
// liveFunctions are those of live modules.
std::mutex functionsMutex;
std::set<void*> liveFunctions;

// build makes the functions of a module: every kernel of the PTX needs a host-compiled one of the same text and parameters.
std::string build(Module& m, const std::string& text) {
  Ptx ptx = readPtx(text);
  if (!ptx.error.empty()) return ptx.error;
  for (auto& e : ptx.entries) {
    std::string path = ptx.image;
    if (path.empty()) {
      const Indexed* at = imageOf(e.name);
      if (!at) return "cuemu: kernel " + e.name + ": the folder " + settings().kernels + " holds no host-compiled kernel of this name";
      if (!ptx.source.empty() && ptx.source != at->source)
        return "cuemu: kernel " + e.name + ": the PTX was made of another text than the host-compiled kernel (" + ptx.source + " and " + at->source + ")";
      path = at->path;
    }
    Image* image = imageAt(path);
    std::string error = image->load(0);
    if (!error.empty()) return "cuemu: " + error;
    const Entry* entry = image->entry(0, e.name);
    if (!entry) return "cuemu: " + path + " has no kernel " + e.name;
    if (entry->count != e.sizes.size())
      return "cuemu: kernel " + e.name + " takes " + std::to_string(e.sizes.size()) + " parameters in PTX and " + std::to_string(entry->count) + " on the host";
    auto f = std::make_unique<Function>();
    f->name = e.name, f->image = image, f->module = &m, f->shared = e.shared;
    unsigned offset = 0;
    for (unsigned i = 0; i < entry->count; i++) {
      if (entry->sizes[i] != e.sizes[i])
        return "cuemu: kernel " + e.name + ": parameter " + std::to_string(i) + " has " + std::to_string(e.sizes[i]) + " bytes in PTX and " +
               std::to_string(entry->sizes[i]) + " on the host";
      unsigned align = e.aligns[i] ? e.aligns[i] : 1;
      offset = (offset + align - 1) / align * align;
      f->sizes.push_back(e.sizes[i]);
      f->offsets.push_back(offset);
      offset += e.sizes[i];
    }
    if (offset > 4096) return "ptxas error   : Formal parameter space overflowed (" + std::to_string(offset) + " bytes required, max 4096 bytes) in function " + e.name;
    if (f->shared > 49152) {
      char text[300];
      snprintf(text, sizeof text, "ptxas error   : Entry function '%s' uses too much shared data (0x%zx bytes, 0xc000 max)", e.name.c_str(), f->shared);
      return text;
    }
    m.functions[e.name] = std::move(f);
  }
  return "";
}

int load(void** out, const char* image, std::string* log) {
  Context* ctx = currentContext();
  auto m = std::make_shared<Module>();
  m->context = ctx;
  if (!image || !strncmp(image, "\177ELF", 4)) {
    *log = "cuemu: the emulator takes PTX only";
    return InvalidImage;
  }
  *log = build(*m, image);
  if (!log->empty()) return InvalidPtx;
  *out = modules().put(m);
  {
    std::lock_guard<std::mutex> l(functionsMutex);
    for (auto& f : m->functions) liveFunctions.insert(f.second.get());
  }
  std::lock_guard<std::mutex> l(ctx->mutex);
  ctx->modules.insert(m.get());
  return Success;
}

Function* functionOf(void* h) {
  std::lock_guard<std::mutex> l(functionsMutex);
  return liveFunctions.count(h) ? (Function*)h : nullptr;
}
}  // namespace

Module::~Module() {
  std::lock_guard<std::mutex> l(functionsMutex);
  for (auto& f : this->functions) liveFunctions.erase(f.second.get());
}

CUEMU_EXPORT int cuModuleLoadDataEx(void** out, const void* image, unsigned n, const int* options, void** values) {
  NEED_CONTEXT();
  std::string log;
  int code = load(out, (const char*)image, &log);
  if (code) report("cuModuleLoadDataEx: %s", log.c_str());
  char* buffers[7] = {};
  for (unsigned i = 0; i < n; i++)
    if (options[i] == 3 || options[i] == 5) buffers[options[i]] = (char*)values[i];
  // Sizes come in and go out in the value itself: 4 and 6 are those of the buffers 3 (information) and 5 (errors).
  for (unsigned i = 0; i < n; i++) {
    if (options[i] != 4 && options[i] != 6) continue;
    size_t size = (size_t)(uintptr_t)values[i];
    const std::string text = options[i] == 6 ? log : "";
    char* buffer = buffers[options[i] - 1];
    if (!buffer || !size) continue;
    size_t take = std::min(size - 1, text.size());
    memcpy(buffer, text.data(), take);
    buffer[take] = 0;
    values[i] = (void*)(uintptr_t)(take ? take + 1 : 0);
  }
  return code;
}
CUEMU_EXPORT int cuModuleLoadData(void** out, const void* image) { return cuModuleLoadDataEx(out, image, 0, nullptr, nullptr); }
CUEMU_EXPORT int cuModuleUnload(void* h) {
  NEED_CONTEXT();
  auto m = modules().get(h);
  if (!m) return InvalidHandle;
  contextWait(ctx); // launches of its functions hold pointers to them
  modules().drop(h);
  std::lock_guard<std::mutex> l(ctx->mutex);
  ctx->modules.erase(m.get());
  return Success;
}
CUEMU_EXPORT int cuModuleGetFunction(void** out, void* h, const char* name) {
  NEED_CONTEXT();
  auto m = modules().get(h);
  if (!m) return InvalidHandle;
  auto it = m->functions.find(name);
  if (it == m->functions.end()) return NotFound;
  *out = it->second.get();
  return Success;
}
CUEMU_EXPORT int cuFuncGetParamInfo(void* h, size_t i, size_t* offset, size_t* size) {
  INJECT();
  Function* f = functionOf(h);
  if (!f) return InvalidHandle;
  if (i >= f->sizes.size()) return InvalidValue;
  *offset = f->offsets[i];
  if (size) *size = f->sizes[i];
  return Success;
}
CUEMU_EXPORT int cuFuncGetAttribute(int* v, int attribute, void* h) {
  INJECT();
  Function* f = functionOf(h);
  if (!f) return InvalidHandle;
  switch (attribute) {
    case 0: *v = 1024; break;                  // threads per block
    case 1: *v = (int)f->shared; break;        // static shared memory
    case 2: case 3: *v = 0; break;             // constant and local memory
    case 4: *v = 32; break;                    // registers
    case 5: *v = 80; break;                    // PTX version
    case 6: *v = settings().capability; break; // binary version
    case 7: *v = 0; break;                     // cache mode
    case 8: *v = f->maxShared - (int)f->shared; break;
    case 9: *v = -1; break;
    default: return InvalidValue;
  }
  return Success;
}
CUEMU_EXPORT int cuFuncSetAttribute(void* h, int attribute, int v) {
  INJECT();
  Function* f = functionOf(h);
  if (!f) return InvalidHandle;
  if (attribute == 9) return Success;
  if (attribute != 8 || v < 0 || v + (int)f->shared > 49152) return InvalidValue;
  f->maxShared = 49152;
  return Success;
}
CUEMU_EXPORT int cuFuncSetCacheConfig(void* h, int) { return functionOf(h) ? Success : InvalidHandle; }
CUEMU_EXPORT int cuFuncGetModule(void** out, void* h) {
  Function* f = functionOf(h);
  if (!f) return InvalidHandle;
  *out = f->module;
  return Success;
}
CUEMU_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, void* h, int items, size_t dynamic, unsigned) {
  INJECT();
  Function* f = functionOf(h);
  if (!f) return InvalidHandle;
  if (items < 1) return InvalidValue;
  size_t shared = f->shared + dynamic;
  *n = items > 1024 || shared > 49152 ? 0 : std::min({2048 / items, 32, shared ? (int)(65536 / shared) : 32});
  return Success;
}
CUEMU_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void* h, int items, size_t dynamic) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, h, items, dynamic, 0);
}
CUEMU_EXPORT int cuOccupancyMaxPotentialBlockSize(int* groups, int* items, void* h, void*, size_t, int limit) {
  INJECT();
  if (!functionOf(h)) return InvalidHandle;
  *groups = 8;
  *items = limit > 0 ? std::min(limit, 1024) : 1024;
  return Success;
}
CUEMU_EXPORT int cuLaunchKernel(void* h, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned dynamic, void* s, void** params,
                                void** extra) {
  NEED_CONTEXT();
  Function* f = functionOf(h);
  StreamRef stream;
  if (!f) return InvalidHandle;
  if (f->module->context != ctx) return InvalidHandle;
  if (int code = streamOf(s, &stream)) return code;
  if (extra || (!params && !f->sizes.empty())) return InvalidValue;
  if (!gx || !gy || !gz || !bx || !by || !bz || gx > 0x7fffffffu || gy > 65535 || gz > 65535) return InvalidValue;
  if (bx > 1024 || by > 1024 || bz > 64 || (uint64_t)bx * by * bz > 1024) return InvalidValue;
  if (f->shared + dynamic > (size_t)f->maxShared) return InvalidValue;
  if (dynamic) {
    report("kernel %s: the emulator has no dynamic shared memory", f->name.c_str());
    return NotSupported;
  }
  auto l = std::make_shared<Launch>();
  l->function = f, l->grid = {gx, gy, gz}, l->block = {bx, by, bz}, l->dynamic = dynamic, l->device = ctx->device;
  l->owners = 1ull << ctx->device | 1ull << hostOwner;
  {
    std::lock_guard<std::mutex> lock(ctx->mutex);
    for (int p : ctx->peers) l->owners |= 1ull << p;
  }
  // The values are read now; the caller's memory may change as soon as this returns.
  size_t total = 0;
  for (unsigned n : f->sizes) total += (n + 15) / 16 * 16;
  l->values.resize(total + 16);
  char* at = (char*)(((uintptr_t)l->values.data() + 15) & ~(uintptr_t)15);
  for (size_t i = 0; i < f->sizes.size(); i++) {
    memcpy(at, params[i], f->sizes[i]);
    l->params.push_back(at);
    at += (f->sizes[i] + 15) / 16 * 16;
  }
  count("launches", 1);
  streamPush(stream, [=] {
    if (ctx->sticky) return 0;
    int code = injected("execute");
    return code ? code : runLaunch(*l);
  });
  return Success;
}
