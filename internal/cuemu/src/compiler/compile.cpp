#include "compile.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace cuemu {

bool readFile(const std::string& path, std::string* out) {
  FILE* f = fopen(path.c_str(), "rb");
  if (!f) return false;
  char buffer[1 << 16];
  size_t n;
  out->clear();
  while ((n = fread(buffer, 1, sizeof buffer, f)) > 0) out->append(buffer, n);
  fclose(f);
  return true;
}

bool writeFile(const std::string& path, const std::string& text) {
  FILE* f = fopen(path.c_str(), "wb");
  if (!f) return false;
  bool ok = fwrite(text.data(), 1, text.size(), f) == text.size();
  return fclose(f) == 0 && ok;
}

namespace {
// run waits for a program and adds what it wrote to log.
bool run(const std::vector<std::string>& args, const std::string& logFile, std::string* log) {
  std::vector<char*> argv;
  for (auto& a : args) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, logFile.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  // The caller may have signals blocked; a compiler has none.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid;
  int rc = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (rc) {
    *log += args[0] + ": " + strerror(rc) + "\n";
    return false;
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  std::string text;
  readFile(logFile, &text);
  unlink(logFile.c_str());
  *log += text;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool word(char c) { return isalnum((unsigned char)c) || c == '_'; }

// kernels finds the names behind the attribute that device.h makes of __global__.
std::vector<std::string> kernels(const std::string& text) {
  std::vector<std::string> names;
  const std::string mark = "((cuemu_kernel))";
  for (size_t i = text.find(mark); i != std::string::npos; i = text.find(mark, i + 1)) {
    size_t open = text.find('(', i + mark.size());
    if (open == std::string::npos) break;
    size_t e = open;
    while (e > i && !word(text[e - 1])) e--;
    size_t b = e;
    while (b > i && word(text[b - 1])) b--;
    std::string name = text.substr(b, e - b);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}
}  // namespace

Compiled compile(const std::string& home, const std::string& text, const std::string& name, const std::vector<std::string>& options, const std::string& out) {
  static std::atomic<int> serial{0};
  Compiled c;
  std::string base = out + "." + std::to_string(getpid()) + "-" + std::to_string(serial++);
  std::string source = base + ".cu", pre = base + ".ii", library = base + ".tmp";
  std::string body = "# 1 \"" + name + "\"\n" + text + "\n";
  std::vector<std::string> flags = {"g++", "-std=c++17", "-O1", "-w", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-fwrapv", "-fno-exceptions", "-fno-rtti",
                                    "-fno-threadsafe-statics", "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-ffp-contract=off", "-fno-math-errno",
                                    "-fno-diagnostics-show-caret", "-fno-diagnostics-color", "-fsanitize=thread", "--param=tsan-distinguish-volatile=1",
                                    "--param=tsan-instrument-func-entry-exit=0", "-I", home, "-include", home + "/device.h", "-x", "c++"};
  for (auto& o : options) flags.push_back(o);
  auto fail = [&] {
    for (auto& f : {source, pre, library}) unlink(f.c_str());
    return c;
  };
  if (!writeFile(source, body)) {
    c.log = "cannot write " + source;
    return fail();
  }
  auto first = flags;
  for (auto a : {std::string("-E"), source, std::string("-o"), pre}) first.push_back(a);
  std::string seen;
  if (!run(first, base + ".log", &c.log) || !readFile(pre, &seen)) return fail();
  c.entries = kernels(seen);
  body += "#include \"footer.h\"\n";
  for (auto& e : c.entries) body += "CUEMU_ENTRY(" + e + ")\n";
  writeFile(source, body);
  auto second = flags;
  for (auto a : {std::string("-shared"), std::string("-nostdlib"), source, std::string("-x"), std::string("none"), home + "/libcuda.so.1", std::string("-Wl,-rpath," + home),
                 std::string("-lm"), std::string("-lc"), std::string("-lgcc"), std::string("-o"), library})
    second.push_back(a);
  if (!run(second, base + ".log", &c.log)) return fail();
  if (rename(library.c_str(), out.c_str())) {
    c.log += "cannot write " + out;
    return fail();
  }
  c.ok = true;
  return fail();
}

}  // namespace cuemu
