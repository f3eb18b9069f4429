// The environment, the log, injected failures and the counters that tests read.
#include <cstdarg>
#include <dlfcn.h>
#include "runtime.h"

namespace cuemu {

static double number(const char* name, double otherwise) {
  const char* s = getenv(name);
  return s && *s ? atof(s) : otherwise;
}

static std::string ownFolder() {
  Dl_info info;
  if (!dladdr((void*)&ownFolder, &info)) return ".";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

const Settings& settings() {
  static const Settings s = [] {
    Settings s;
    s.seed = (uint64_t)number("CUEMU_SEED", 0);
    s.devices = (int)number("CUEMU_DEVICES", 1);
    s.memory = (size_t)number("CUEMU_MEMORY", 4e9);
    s.blocks = (int)number("CUEMU_BLOCKS", 4);
    if (s.blocks < 1) s.blocks = 1;
    if (s.blocks > 16) s.blocks = 16;
    s.capability = (int)number("CUEMU_CAPABILITY", 80);
    s.timeout = number("CUEMU_TIMEOUT", 120);
    s.poison = number("CUEMU_POISON", 1) != 0;
    const char* k = getenv("CUEMU_KERNELS");
    s.kernels = k && *k ? k : ownFolder();
    return s;
  }();
  return s;
}

void report(const char* format, ...) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> l(mutex);
  const char* path = getenv("CUEMU_LOG");
  FILE* f = path && *path ? fopen(path, "a") : stderr;
  if (!f) f = stderr;
  fputs("cuemu: ", f);
  va_list args;
  va_start(args, format);
  vfprintf(f, format, args);
  va_end(args);
  fputc('\n', f);
  f == stderr ? fflush(f) : fclose(f);
}

namespace {
struct Failure {
  std::string name;
  long nth;  // counts down; fires at 1
  int code;
};
std::mutex failMutex;
std::vector<Failure>& failures() {
  static std::vector<Failure> f = [] {
    // CUEMU_FAIL=name:nth:code,name:nth:code
    std::vector<Failure> f;
    const char* s = getenv("CUEMU_FAIL");
    while (s && *s) {
      char name[128];
      long nth;
      int code, used = 0;
      if (sscanf(s, "%127[^:]:%ld:%d%n", name, &nth, &code, &used) != 3) {
        report("CUEMU_FAIL is not name:nth:code[,...]: %s", s);
        break;
      }
      f.push_back({name, nth, code});
      s += used;
      if (*s == ',') s++;
    }
    return f;
  }();
  return f;
}
std::atomic<int> armed{-1};
std::mutex countMutex;
std::map<std::string, long long>& counts() {
  static auto* c = new std::map<std::string, long long>;
  return *c;
}
}  // namespace

int injected(const char* name) {
  if (armed == 0) return 0;
  std::lock_guard<std::mutex> l(failMutex);
  int code = 0;
  auto& all = failures();
  for (size_t i = 0; i < all.size();) {
    if (all[i].name == name && --all[i].nth <= 0 && !code) {
      code = all[i].code;
      all.erase(all.begin() + i);
      continue;
    }
    i++;
  }
  armed = (int)all.size();
  if (code >= 700 && code < 720) {
    // These leave a context unusable, as a device that is lost does.
    if (Context* ctx = currentContext()) ctx->sticky = code;
  }
  return code;
}

void count(const char* what, long long by) {
  std::lock_guard<std::mutex> l(countMutex);
  counts()[what] += by;
}

}  // namespace cuemu

// cuemuFail makes the nth call of name from now on return code. The name "execute" stands for the run of a kernel on its stream; the error
// then comes at the next call that looks. nth 0 takes all injected failures of that name back; a null name takes back all.
CUEMU_EXPORT int cuemuFail(const char* name, int nth, int code) {
  std::lock_guard<std::mutex> l(cuemu::failMutex);
  auto& all = cuemu::failures();
  if (!name) {
    all.clear();
  } else if (nth <= 0) {
    for (size_t i = all.size(); i-- > 0;)
      if (all[i].name == name) all.erase(all.begin() + i);
  } else {
    all.push_back({name, nth, code});
  }
  cuemu::armed = (int)all.size();
  return 0;
}

// cuemuCount is the number of live things: contexts, streams, events, modules, allocations, pinned, registered, bytes, and of launches.
CUEMU_EXPORT long long cuemuCount(const char* what) {
  std::lock_guard<std::mutex> l(cuemu::countMutex);
  auto it = cuemu::counts().find(what);
  return it == cuemu::counts().end() ? 0 : it->second;
}
