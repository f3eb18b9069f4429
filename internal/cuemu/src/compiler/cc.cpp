// cuemu-cc OUT.so NAME < text: compiles a module for the emulator and prints its kernels' names.
#include <climits>
#include <cstdio>
#include <unistd.h>
#include "compile.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: cuemu-cc OUT.so NAME [OPTION...] < TEXT\n");
    return 2;
  }
  char self[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  std::string home(self, n > 0 ? (size_t)n : 0), text;
  home = home.substr(0, home.rfind('/'));
  char buffer[1 << 16];
  size_t got;
  while ((got = fread(buffer, 1, sizeof buffer, stdin)) > 0) text.append(buffer, got);
  auto c = cuemu::compile(home, text, argv[2], std::vector<std::string>(argv + 3, argv + argc), argv[1]);
  fputs(c.log.c_str(), stderr);
  if (!c.ok) return 1;
  for (auto& e : c.entries) printf("%s\n", e.c_str());
  return 0;
}
