// The values of columns: part of volley.hpp, which includes it.
#ifndef VOLLEY_VALUES_HPP
#define VOLLEY_VALUES_HPP

#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>

namespace volley {

// Whether values of a type are those of a column as they lie in memory. bool is not, since a column has bits of it, and texts are not: both have
// columns and accessors of their own.
template <typename T>
constexpr bool is_element = (std::is_integral_v<T> && sizeof(T) <= 8 && !std::is_same_v<T, bool> && !std::is_same_v<T, wchar_t> &&
                             !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>) ||
                            std::is_same_v<T, float> || std::is_same_v<T, double>;

// The name of a type of C++ in volley.
template <typename T>
constexpr const char* type_name() {
  using U = std::remove_cv_t<T>;
  static_assert(is_element<U>, "volley has no element type for this type of C++: it takes integers of up to 64 bits, float and double; columns also std::string and bool");
  if constexpr (std::is_floating_point_v<U>) return sizeof(U) == 8 ? "float64" : "float32";
  constexpr const char* names[2][4] = {{"uint8", "uint16", "uint32", "uint64"}, {"int8", "int16", "int32", "int64"}};
  return names[std::is_signed_v<U>][sizeof(U) == 1 ? 0 : sizeof(U) == 2 ? 1 : sizeof(U) == 4 ? 2 : 3];
}

namespace detail {

// Goes through a view whose operator[] makes values.
template <typename View>
class iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = typename View::value_type;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;
  iterator(const View& of, int64_t at) : of_(of), at_(at) {}
  value_type operator*() const { return of_[at_]; }
  iterator& operator++() {
    at_++;
    return *this;
  }
  iterator operator++(int) { return iterator(of_, at_++); }
  bool operator==(const iterator& o) const { return at_ == o.at_; }
  bool operator!=(const iterator& o) const { return at_ != o.at_; }

 private:
  View of_;
  int64_t at_;
};

inline bool bit(const void* bits, int64_t i) { return (static_cast<const uint8_t*>(bits)[i >> 3] >> (i & 7) & 1) != 0; }

template <typename T>
bool is_of(const std::string& type) {
  if constexpr (std::is_same_v<T, std::string_view>) return type == "utf8" || type == "large_utf8" || type == "binary" || type == "large_binary";
  else if constexpr (std::is_same_v<T, bool>) return type == "bool";
  else return type == type_name<T>();
}

// What is wrong with reading a column as values of T; empty where nothing is.
template <typename T>
std::string not_of(const volley_array& a) {
  if (is_of<T>(a.type)) return {};
  std::string as = "texts";
  if constexpr (std::is_same_v<T, bool>) as = "bool";
  else if constexpr (!std::is_same_v<T, std::string_view>) as = type_name<T>();
  return std::string("a column of ") + a.type + " as " + as;
}

}  // namespace detail

// The values of a column without nulls, valid while the column lives.
template <typename T>
class values {
 public:
  using value_type = T;
  values(const T* first, int64_t n) : first_(first), n_(n) {}
  explicit values(const volley_array& a) : first_(static_cast<const T*>(a.values)), n_(a.length) {}
  const T* begin() const noexcept { return first_; }
  const T* end() const noexcept { return first_ + n_; }
  int64_t size() const noexcept { return n_; }
  const T& operator[](int64_t i) const noexcept { return first_[i]; }

 private:
  const T* first_;
  int64_t n_;
};

// Bools, which a column has as bits.
template <>
class values<bool> {
 public:
  using value_type = bool;
  using iterator = detail::iterator<values>;
  explicit values(const volley_array& a) : bits_(a.values), from_(a.bit_offset), n_(a.length) {}
  iterator begin() const { return {*this, 0}; }
  iterator end() const { return {*this, n_}; }
  int64_t size() const noexcept { return n_; }
  bool operator[](int64_t i) const noexcept { return detail::bit(bits_, from_ + i); }

 private:
  const void* bits_;
  int64_t from_, n_;
};

// Texts, and binaries.
template <>
class values<std::string_view> {
 public:
  using value_type = std::string_view;
  using iterator = detail::iterator<values>;
  explicit values(const volley_array& a)
      : bytes_(static_cast<const char*>(a.values)), offsets_(a.offsets), large_(std::string_view(a.type).substr(0, 6) == "large_"), n_(a.length) {}
  iterator begin() const { return {*this, 0}; }
  iterator end() const { return {*this, n_}; }
  int64_t size() const noexcept { return n_; }
  std::string_view operator[](int64_t i) const noexcept {
    int64_t from = offset(i), to = offset(i + 1);
    return from == to ? std::string_view() : std::string_view(bytes_ + from, static_cast<size_t>(to - from));
  }

 private:
  int64_t offset(int64_t i) const noexcept { return large_ ? static_cast<const int64_t*>(offsets_)[i] : static_cast<const int32_t*>(offsets_)[i]; }
  const char* bytes_;
  const void* offsets_;
  bool large_;
  int64_t n_;
};

// The values of a column that may have nulls, as optionals; valid while the column lives.
template <typename T>
class nullable_values {
 public:
  using value_type = std::optional<T>;
  using iterator = detail::iterator<nullable_values>;
  explicit nullable_values(const volley_array& a) : values_(a), validity_(a.validity), from_(a.bit_offset) {}
  iterator begin() const { return {*this, 0}; }
  iterator end() const { return {*this, size()}; }
  int64_t size() const noexcept { return values_.size(); }
  bool is_null(int64_t i) const noexcept { return validity_ && !detail::bit(validity_, from_ + i); }
  std::optional<T> operator[](int64_t i) const {
    if (is_null(i)) return std::nullopt;
    return values_[i];
  }

 private:
  values<T> values_;
  const void* validity_;
  int64_t from_;
};

namespace detail {

// The first byte of a text that is none of UTF-8, or its end.
inline size_t utf8_until(std::string_view s) {
  for (size_t i = 0; i < s.size();) {
    auto at = [&](size_t k) { return i + k < s.size() ? static_cast<unsigned char>(s[i + k]) : 0u; };
    unsigned c = at(0), least = 0x80, most = 0xbf;
    size_t more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : 4;
    if (more == 4) return i;
    if (c == 0xe0) least = 0xa0; // no longer form than needed
    if (c == 0xed) most = 0x9f;  // no half of a pair
    if (c == 0xf0) least = 0x90;
    if (c == 0xf4) most = 0x8f;  // nothing beyond U+10FFFF
    for (size_t k = 1; k <= more; k++, least = 0x80, most = 0xbf) {
      if (at(k) < least || at(k) > most) return i;
    }
    i += more + 1;
  }
  return s.size();
}

inline std::vector<uint8_t> bits(int64_t n) { return std::vector<uint8_t>(static_cast<size_t>(n + 7) / 8); }
inline void set_bit(std::vector<uint8_t>& bits, int64_t i) { bits[static_cast<size_t>(i) >> 3] |= static_cast<uint8_t>(1 << (i & 7)); }

// The memory of a column that is made here.
struct made {
  std::vector<uint8_t> validity, packed;
  std::vector<int32_t> offsets;
  std::vector<int64_t> large;
  std::string bytes;
  volley_array array{};

  void add(std::string_view text, size_t row) {
    if (utf8_until(text) != text.size()) throw std::invalid_argument("text " + std::to_string(row) + " is not UTF-8");
    bytes += text;
    large.push_back(static_cast<int64_t>(bytes.size()));
  }
  void finish_texts() {
    array.values = bytes.data();
    array.offsets = large.data();
    array.type = "large_utf8";
    if (bytes.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) return;
    offsets.assign(large.begin(), large.end());
    array.offsets = offsets.data();
    array.type = "utf8";
  }
};

}  // namespace detail
}  // namespace volley

#endif  // VOLLEY_VALUES_HPP
