// Reads PTX: .version, .target, the .entry declarations with their parameters and what shared memory each uses.
#include <cctype>
#include <cstdlib>
#include <map>
#include "ptx.h"

namespace cuemu {

namespace {
bool word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

std::string wordAt(const std::string& s, size_t i) {
  while (i < s.size() && isspace((unsigned char)s[i])) i++;
  size_t e = i;
  while (e < s.size() && (word(s[e]) || s[e] == '.')) e++;
  return s.substr(i, e - i);
}

std::string lineAfter(const std::string& s, const char* mark) {
  size_t i = s.find(mark);
  if (i == std::string::npos) return "";
  i += std::char_traits<char>::length(mark);
  size_t e = s.find_first_of("\r\n", i);
  std::string v = s.substr(i, e == std::string::npos ? e : e - i);
  while (!v.empty() && v[0] == ' ') v.erase(0, 1);
  return v;
}

// sizeOf gives the bytes of a declaration such as ".align 8 .b8 name[24]" or ".u64 name".
unsigned sizeOf(const std::string& d, unsigned* align) {
  static const std::map<std::string, unsigned> types = {{".b8", 1}, {".u8", 1}, {".s8", 1}, {".b16", 2}, {".u16", 2}, {".s16", 2}, {".f16", 2},
                                                        {".b32", 4}, {".u32", 4}, {".s32", 4}, {".f32", 4}, {".b64", 8}, {".u64", 8}, {".s64", 8}, {".f64", 8}};
  unsigned one = 0, n = 1;
  *align = 0;
  for (size_t i = 0; i < d.size();) {
    if (d[i] == '.') {
      std::string w = wordAt(d, i);
      auto it = types.find(w);
      if (it != types.end()) one = it->second;
      if (w == ".align") *align = (unsigned)atoi(wordAt(d, i + w.size()).c_str());
      i += w.size() ? w.size() : 1;
    } else if (d[i] == '[') {
      n *= (unsigned)strtoul(d.c_str() + i + 1, nullptr, 10);
      i++;
    } else {
      i++;
    }
  }
  if (!*align) *align = one;
  return one * n;
}
}  // namespace

Ptx readPtx(const std::string& text) {
  Ptx p;
  p.source = lineAfter(text, "// source sha256:");
  p.image = lineAfter(text, "// cuemu:");
  p.version = wordAt(lineAfter(text, "\n.version "), 0);
  p.target = wordAt(lineAfter(text, "\n.target "), 0);
  if (p.version.empty()) {
    p.error = "ptxas fatal   : Missing .version directive at start of file";
    return p;
  }
  std::vector<std::pair<std::string, size_t>> shared;
  for (size_t i = text.find(".shared "); i != std::string::npos; i = text.find(".shared ", i + 1)) {
    if (i && text[i - 1] != '\n' && text[i - 1] != '\t' && text[i - 1] != ' ') continue; // ld.shared and the like
    size_t end = text.find_first_of(";=\n", i);
    std::string d = text.substr(i, end - i);
    size_t bracket = d.find('['), e = bracket == std::string::npos ? d.size() : bracket;
    while (e > 0 && !word(d[e - 1])) e--;
    size_t b = e;
    while (b > 0 && word(d[b - 1])) b--;
    unsigned align;
    shared.push_back({d.substr(b, e - b), sizeOf(d, &align)});
  }
  for (size_t i = text.find(".entry "); i != std::string::npos; i = text.find(".entry ", i + 1)) {
    PtxEntry e;
    e.name = wordAt(text, i + 7);
    size_t open = text.find_first_of("({", i);
    size_t body = open;
    if (open != std::string::npos && text[open] == '(') {
      size_t close = text.find(')', open);
      if (close == std::string::npos) {
        p.error = "ptxas fatal   : .entry " + e.name + ": no end of the parameters";
        return p;
      }
      for (size_t k = text.find(".param", open); k != std::string::npos && k < close; k = text.find(".param", k + 6)) {
        size_t end = text.find_first_of(",)", k);
        unsigned align;
        e.sizes.push_back(sizeOf(text.substr(k + 6, end - k - 6), &align));
        e.aligns.push_back(align);
      }
      body = close;
    }
    size_t next = text.find(".entry ", body == std::string::npos ? i + 1 : body);
    std::string code = text.substr(body == std::string::npos ? i : body, next == std::string::npos ? next : next - body);
    for (auto& s : shared) {
      for (size_t k = code.find(s.first); k != std::string::npos; k = code.find(s.first, k + 1)) {
        size_t after = k + s.first.size();
        if ((k && word(code[k - 1])) || (after < code.size() && word(code[after]))) continue;
        e.shared += s.second;
        break;
      }
    }
    p.entries.push_back(e);
  }
  return p;
}

}  // namespace cuemu
