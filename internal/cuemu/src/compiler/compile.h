// Compiles the text of a CUDA module for the host with g++; used by the program cuemu-cc and by the emulated NVRTC.
#pragma once
#include <string>
#include <vector>

namespace cuemu {
struct Compiled {
  bool ok = false;
  std::string log;                  // of g++
  std::vector<std::string> entries; // the kernels' names
};
// compile writes the library out. name is what error messages call the text; home is the folder of device.h and libcuda.so.1.
Compiled compile(const std::string& home, const std::string& text, const std::string& name, const std::vector<std::string>& options, const std::string& out);
bool readFile(const std::string& path, std::string* out);
bool writeFile(const std::string& path, const std::string& text);
}  // namespace cuemu
