// Host-compiled kernels: one library per module, loaded once for each block that is resident at a time, so that each has __shared__
// variables of its own.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
#include "runtime.h"

namespace cuemu {

static std::mutex mutex;

// dlopen takes one file, and one name, for one library, so every copy is a file with a name of its own, for as long as it takes to load it.
std::string Image::load(int n) {
  static int serial = 0;
  std::lock_guard<std::mutex> l(mutex);
  if ((int)copies.size() <= n) copies.resize(n + 1);
  if (copies[n].handle) return "";
  int from = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return path + ": " + strerror(errno);
  std::string name = path + "." + std::to_string(getpid()) + "-" + std::to_string(serial++) + ".copy";
  int to = open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  char buffer[1 << 16];
  ssize_t got;
  while (to >= 0 && (got = read(from, buffer, sizeof buffer)) > 0)
    if (write(to, buffer, (size_t)got) != got) break;
  close(from);
  if (to < 0 || close(to)) return name + ": " + strerror(errno);
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string error = handle ? "" : path + ": " + dlerror();
  unlink(name.c_str());
  if (!handle) return error;
  char** bounds = (char**)dlsym(handle, "cuemu_image");
  if (!bounds) return path + ": not compiled by the emulator's compiler";
  copies[n] = {handle, bounds[0], bounds[1], bounds[2], bounds[3]};
  return "";
}

const Entry* Image::entry(int n, const std::string& name) { return (const Entry*)dlsym(copies[n].handle, ("cuemu_entry_" + name).c_str()); }

Image* imageAt(const std::string& path) {
  static std::map<std::string, Image*> images;
  std::lock_guard<std::mutex> l(mutex);
  Image*& image = images[path];
  if (!image) {
    image = new Image;
    image->path = path;
    image->copies.reserve(16);
  }
  return image;
}

// The index has a line per kernel: its name, the file of its module and the SHA-256 of the module's text.
const Indexed* imageOf(const std::string& entry) {
  static const std::unordered_map<std::string, Indexed>* index = [] {
    auto* m = new std::unordered_map<std::string, Indexed>;
    if (FILE* f = fopen((settings().kernels + "/index").c_str(), "r")) {
      char name[512], file[2048], source[128];
      while (fscanf(f, "%511s %2047s %127s", name, file, source) == 3) {
        std::string path = file[0] == '/' ? file : settings().kernels + "/" + file;
        (*m)[name] = {path, source};
      }
      fclose(f);
    }
    return m;
  }();
  auto it = index->find(entry);
  return it == index->end() ? nullptr : &it->second;
}

}  // namespace cuemu
