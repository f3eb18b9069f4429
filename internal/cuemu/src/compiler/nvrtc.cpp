// The emulated libnvrtc.so.12: compiles with g++ and gives a PTX that has the kernels' declarations and names the library that holds them.
#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include "compile.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
struct Program {
  std::string text, name, log, ptx;
};
std::mutex mutex;
std::set<Program*> live;
bool known(Program* p) {
  std::lock_guard<std::mutex> l(mutex);
  return live.count(p) > 0;
}

std::string ownFolder() {
  Dl_info info;
  if (!dladdr((void*)&ownFolder, &info)) return ".";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string digest(const std::string& s) {
  char out[40];
  unsigned long long a = 14695981039346656037ull, b = 0x9E3779B97F4A7C15ull;
  for (unsigned char c : s) a = (a ^ c) * 1099511628211ull, b = (b + c) * 6364136223846793005ull + (a >> 32);
  snprintf(out, sizeof out, "%016llx%016llx", a, b);
  return out;
}

// asNvrtc turns "name:12:3: error: text" into NVRTC's "name(12): error: text".
std::string asNvrtc(const std::string& log, const std::string& name) {
  std::string out;
  for (size_t i = 0; i < log.size();) {
    size_t e = log.find('\n', i);
    if (e == std::string::npos) e = log.size();
    std::string line = log.substr(i, e - i);
    i = e + 1;
    for (const char* kind : {": error: ", ": warning: ", ": note: ", ": fatal error: "}) {
      size_t k = line.find(kind), colon = k == std::string::npos ? k : line.rfind(':', k - 1);
      size_t before = colon == std::string::npos || colon == 0 ? std::string::npos : line.rfind(':', colon - 1);
      if (before == std::string::npos) continue;
      line = line.substr(0, before) + "(" + line.substr(before + 1, colon - before - 1) + ")" + line.substr(k);
      break;
    }
    out += line + "\n";
  }
  return out;
}

struct Entry {
  const char* name;
  void (*call)(void**);
  unsigned count;
  const unsigned* sizes;
};

// ptxOf writes the declarations of a compiled library's kernels.
bool ptxOf(const std::string& library, const std::vector<std::string>& entries, std::string* ptx, std::string* log) {
  void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!handle) {
    *log += dlerror();
    return false;
  }
  *ptx = "//\n// cuemu: " + library + "\n//\n\n.version 8.0\n.target sm_70\n.address_size 64\n";
  for (auto& e : entries) {
    auto entry = (const Entry*)dlsym(handle, ("cuemu_entry_" + e).c_str());
    if (!entry) continue;
    *ptx += "\n.visible .entry " + e + "(";
    for (unsigned i = 0; i < entry->count; i++) {
      unsigned n = entry->sizes[i];
      std::string p = e + "_param_" + std::to_string(i);
      *ptx += i ? ",\n\t.param " : "\n\t.param ";
      *ptx += n == 8 ? ".u64 " + p : n == 4 ? ".u32 " + p : n == 2 ? ".u16 " + p : n == 1 ? ".u8 " + p : ".align 8 .b8 " + p + "[" + std::to_string(n) + "]";
    }
    *ptx += "\n)\n{\n\tret;\n}\n";
  }
  dlclose(handle);
  return true;
}
}  // namespace

EXPORT int nvrtcVersion(int* major, int* minor) { return *major = 12, *minor = 0, 0; }
EXPORT const char* nvrtcGetErrorString(int code) {
  switch (code) {
    case 0: return "NVRTC_SUCCESS";
    case 1: return "NVRTC_ERROR_OUT_OF_MEMORY";
    case 2: return "NVRTC_ERROR_PROGRAM_CREATION_FAILURE";
    case 3: return "NVRTC_ERROR_INVALID_INPUT";
    case 4: return "NVRTC_ERROR_INVALID_PROGRAM";
    case 5: return "NVRTC_ERROR_INVALID_OPTION";
    case 6: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR unknown";
  }
}
EXPORT int nvrtcGetNumSupportedArchs(int* n) { return *n = 6, 0; }
EXPORT int nvrtcGetSupportedArchs(int* out) {
  const int all[] = {60, 70, 75, 80, 86, 90};
  for (int i = 0; i < 6; i++) out[i] = all[i];
  return 0;
}
EXPORT int nvrtcCreateProgram(Program** out, const char* text, const char* name, int headers, const char* const*, const char* const*) {
  if (!text || headers) return 3;
  auto p = new Program{text, name && *name ? name : "default_program", "", ""};
  std::lock_guard<std::mutex> l(mutex);
  live.insert(p);
  *out = p;
  return 0;
}
EXPORT int nvrtcDestroyProgram(Program** p) {
  std::lock_guard<std::mutex> l(mutex);
  if (!p || !live.erase(*p)) return 4;
  delete *p;
  *p = nullptr;
  return 0;
}
EXPORT int nvrtcCompileProgram(Program* p, int n, const char* const* options) {
  if (!known(p)) return 4;
  std::vector<std::string> given;
  for (int i = 0; i < n; i++) {
    std::string o = options[i];
    if (o.rfind("-D", 0) == 0) {
      given.push_back(o);
    } else if (o.rfind("--define-macro=", 0) == 0) {
      given.push_back("-D" + o.substr(15));
    } else if (o.rfind("-", 0) != 0) {
      p->log = "nvrtc: error: invalid value for option: " + o + "\n";
      return 5;
    }
  }
  std::string home = ownFolder(), key = p->text + p->name;
  for (auto& g : given) key += "\n" + g;
  mkdir((home + "/nvrtc").c_str(), 0777);
  std::string base = home + "/nvrtc/" + digest(key), library = base + ".so";
  if (cuemu::readFile(base + ".ptx", &p->ptx)) return 0;
  auto c = cuemu::compile(home, p->text, p->name, given, library);
  p->log = asNvrtc(c.log, p->name);
  if (!c.ok) return 6;
  if (!ptxOf(library, c.entries, &p->ptx, &p->log)) return 6;
  std::string draft = base + "." + digest(p->name + std::to_string((unsigned long)p)) + ".tmp";
  if (cuemu::writeFile(draft, p->ptx)) rename(draft.c_str(), (base + ".ptx").c_str());
  return 0;
}
EXPORT int nvrtcGetPTXSize(Program* p, size_t* n) { return known(p) ? (*n = p->ptx.size() + 1, 0) : 4; }
EXPORT int nvrtcGetPTX(Program* p, char* out) { return known(p) ? (p->ptx.copy(out, p->ptx.size()), out[p->ptx.size()] = 0, 0) : 4; }
EXPORT int nvrtcGetProgramLogSize(Program* p, size_t* n) { return known(p) ? (*n = p->log.size() + 1, 0) : 4; }
EXPORT int nvrtcGetProgramLog(Program* p, char* out) { return known(p) ? (p->log.copy(out, p->log.size()), out[p->log.size()] = 0, 0) : 4; }
