// The part of a PTX text that a driver needs to check: its kernels and their parameters.
#pragma once
#include <string>
#include <vector>

namespace cuemu {
struct PtxEntry {
  std::string name;
  std::vector<unsigned> sizes, aligns;
  size_t shared = 0;
};
struct Ptx {
  std::string version, target;
  std::string source; // SHA-256 of the text that it was made of, from the line "// source sha256:", or ""
  std::string image;  // of the line "// cuemu:", which the emulated NVRTC writes
  std::vector<PtxEntry> entries;
  std::string error;
};
Ptx readPtx(const std::string& text);
}  // namespace cuemu
