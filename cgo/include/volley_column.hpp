// Columns and matrices: part of volley.hpp, which includes it.
#ifndef VOLLEY_COLUMN_HPP
#define VOLLEY_COLUMN_HPP

namespace volley {

// An Arrow array in the memory of a device; immutable.
class column : public detail::handle<volley_column, volley_column_free> {
 public:
  using handle::handle;
  // Takes a vector of numbers over; its memory is the column's.
  template <typename T>
  explicit column(std::vector<T> data) : handle(adopt(std::move(data))) {}
  // Copies texts of UTF-8, bools, and values that may be null: numbers, texts, bools.
  explicit column(const std::vector<std::string>& texts) : handle(copy_texts(texts.size(), [&](size_t i) { return &texts[i]; })) {}
  explicit column(const std::vector<bool>& data) : handle(copy_bools(data.size(), [&](size_t i) { return std::optional<bool>(data[i]); })) {}
  template <typename T>
  explicit column(const std::vector<std::optional<T>>& data) : handle(copy_optionals(data)) {}
  // Moves an Arrow array in.
  column(ArrowArray* array, ArrowSchema* schema) : handle(import(array, schema)) {}
  // Moves an array of any device in.
  column(ArrowDeviceArray* array, ArrowSchema* schema) : handle(import(array, schema)) {}
  // Moves a tensor of any device in.
  explicit column(DLManagedTensorVersioned* tensor) : handle(import(tensor)) {}

  int64_t size() const {
    int64_t n;
    check(volley_column_length(get(), &n));
    return n;
  }
  int64_t null_count() const {
    int64_t n;
    check(volley_column_null_count(get(), &n));
    return n;
  }
  std::string type() const {
    char* text;
    check(volley_column_type(get(), &text));
    return detail::take(text);
  }
  // The values of a column without nulls: numbers, bool, or std::string_view of texts and binaries.
  template <typename T>
  volley::values<T> as() const {
    volley_array a = view<T>();
    if (a.validity && null_count() > 0) throw std::invalid_argument("a column with nulls as plain values: as nullable values they are optionals");
    return volley::values<T>(a);
  }
  // The values of a column that may have nulls, as optionals.
  template <typename T>
  nullable_values<T> nullable() const {
    return nullable_values<T>(view<T>());
  }
  void export_to(ArrowArray* array, ArrowSchema* schema) const { check(volley_column_export(get(), array, schema)); }
  void export_to(ArrowDeviceArray* array, ArrowSchema* schema) const { check(volley_column_export_device(get(), array, schema)); }
  DLManagedTensorVersioned* to_dlpack() const {
    DLManagedTensorVersioned* t;
    check(volley_column_to_dlpack_versioned(get(), &t));
    return t;
  }
  // The column in the memory of a device.
  column to(const device& d) const {
    return make([&](volley_column** c) { return volley_column_to(get(), d.get(), nullptr, c); });
  }
  volley::device where() const {
    volley_device* d;
    check(volley_column_device(get(), &d));
    return volley::device(d);
  }
  column slice(int64_t offset, int64_t length) const {
    return make([&](volley_column** c) { return volley_column_slice(get(), offset, length, c); });
  }
  column filter(const device& d, const column& mask) const {
    return make([&](volley_column** c) { return volley_filter(d.get(), get(), mask.get(), nullptr, c); });
  }
  column take(const device& d, const column& rows) const {
    return make([&](volley_column** c) { return volley_take(d.get(), get(), rows.get(), nullptr, c); });
  }
  // The rows in order of the values.
  column order(const device& d, bool descending = false) const {
    const volley_column* key = get();
    int32_t down = descending;
    return make([&](volley_column** c) { return volley_sort(d.get(), &key, &down, nullptr, 1, nullptr, c); });
  }

  template <typename F>
  static column make(F f) {
    volley_column* c;
    check(f(&c));
    return column(c);
  }

 private:
  static volley_column* import(ArrowDeviceArray* array, ArrowSchema* schema) {
    volley_column* c;
    check(volley_column_import_device(array, schema, nullptr, nullptr, &c));
    return c;
  }
  static volley_column* import(DLManagedTensorVersioned* tensor) {
    volley_column* c;
    check(volley_column_from_dlpack_versioned(tensor, &c));
    return c;
  }
  static volley_column* import(ArrowArray* array, ArrowSchema* schema) {
    volley_column* c;
    check(volley_column_import(array, schema, nullptr, &c));
    return c;
  }
  template <typename T>
  volley_array view() const {
    volley_array a{};
    a.size = sizeof a;
    check(volley_column_view(get(), &a));
    std::string wrong = detail::not_of<T>(a);
    if (!wrong.empty()) throw std::invalid_argument(wrong);
    return a;
  }
  // A column over memory that keep holds.
  template <typename Keep>
  static volley_column* wrap(volley_array a, std::unique_ptr<Keep> keep) {
    a.size = sizeof a;
    volley_column* c;
    check(volley_column_wrap(&a, [](void* p) { delete static_cast<Keep*>(p); }, keep.release(), &c)); // released on errors too
    return c;
  }
  template <typename T>
  static volley_column* adopt(std::vector<T> data) {
    volley_array a{};
    a.type = type_name<T>();
    auto own = std::make_unique<std::vector<T>>(std::move(data));
    a.length = static_cast<int64_t>(own->size());
    a.values = own->data();
    return wrap(a, std::move(own));
  }
  // text gives a pointer to each, NULL of null.
  template <typename F>
  static volley_column* copy_texts(size_t n, F text) {
    auto own = std::make_unique<detail::made>();
    own->large.push_back(0);
    own->validity = detail::bits(static_cast<int64_t>(n));
    bool nulls = false;
    for (size_t i = 0; i < n; i++) {
      const std::string* t = text(i);
      own->add(t ? std::string_view(*t) : std::string_view(), i);
      if (t) detail::set_bit(own->validity, static_cast<int64_t>(i));
      nulls |= !t;
    }
    own->finish_texts();
    return finish(std::move(own), n, nulls);
  }
  template <typename F>
  static volley_column* copy_bools(size_t n, F value) {
    auto own = std::make_unique<detail::made>();
    own->packed = detail::bits(static_cast<int64_t>(n));
    own->validity = detail::bits(static_cast<int64_t>(n));
    bool nulls = false;
    for (size_t i = 0; i < n; i++) {
      std::optional<bool> v = value(i);
      if (v) detail::set_bit(own->validity, static_cast<int64_t>(i));
      if (v.value_or(false)) detail::set_bit(own->packed, static_cast<int64_t>(i));
      nulls |= !v;
    }
    own->array.type = "bool";
    own->array.values = own->packed.data();
    return finish(std::move(own), n, nulls);
  }
  static volley_column* finish(std::unique_ptr<detail::made> own, size_t n, bool nulls) {
    volley_array a = own->array;
    a.length = static_cast<int64_t>(n);
    a.validity = nulls ? own->validity.data() : nullptr;
    return wrap(a, std::move(own));
  }
  template <typename T>
  static volley_column* copy_optionals(const std::vector<std::optional<T>>& data) {
    if constexpr (std::is_same_v<T, std::string>) {
      return copy_texts(data.size(), [&](size_t i) { return data[i] ? &*data[i] : nullptr; });
    } else if constexpr (std::is_same_v<T, bool>) {
      return copy_bools(data.size(), [&](size_t i) { return data[i]; });
    } else {
      auto own = std::make_unique<std::pair<std::vector<T>, std::vector<uint8_t>>>();
      volley_array a{};
      a.type = type_name<T>();
      a.length = static_cast<int64_t>(data.size());
      own->second = detail::bits(a.length);
      for (const auto& x : data) {
        if (x) detail::set_bit(own->second, static_cast<int64_t>(own->first.size()));
        own->first.push_back(x.value_or(T()));
      }
      a.values = own->first.data();
      a.validity = own->second.data();
      return wrap(a, std::move(own));
    }
  }
};

// A dense matrix of float or double, in host memory or a device's.
// The running "sum", "product", "min" or "max" of a column, on a device.
inline column cumulative(const device& d, const column& c, const char* op = "sum", const volley_cumulative_options* options = nullptr,
                         const token* stop = nullptr) {
  volley_column* made;
  check(volley_cumulative(d.get(), c.get(), op, options, stop ? stop->get() : nullptr, &made));
  return column(made);
}

class matrix : public detail::handle<volley_matrix, volley_matrix_free> {
 public:
  using handle::handle;
  explicit matrix(DLManagedTensorVersioned* tensor) : handle(import(tensor)) {}
  std::pair<int64_t, int64_t> shape() const {
    std::pair<int64_t, int64_t> s;
    check(volley_matrix_shape(get(), &s.first, &s.second));
    return s;
  }
  matrix to(const device& d) const {
    return make([&](volley_matrix** m) { return volley_matrix_to(get(), d.get(), nullptr, m); });
  }
  matrix multiply(const device& d, const matrix& b) const {
    return make([&](volley_matrix** m) { return volley_matrix_multiply(d.get(), get(), b.get(), nullptr, m); });
  }
  // alpha A x, or with transposed alpha A' x.
  column gemv(const device& d, const column& x, bool transposed = false, double alpha = 1, const token* stop = nullptr) const {
    return product(d, transposed, alpha, x, 0, nullptr, stop);
  }
  // The same + beta y.
  column gemv(const device& d, const column& x, double beta, const column& y, bool transposed = false, double alpha = 1, const token* stop = nullptr) const {
    return product(d, transposed, alpha, x, beta, y.get(), stop);
  }
  matrix transpose(const device& d, const token* stop = nullptr) const {
    return make([&](volley_matrix** m) { return volley_matrix_transpose(d.get(), get(), stop ? stop->get() : nullptr, m); });
  }
  DLManagedTensorVersioned* to_dlpack() const {
    DLManagedTensorVersioned* t;
    check(volley_matrix_to_dlpack_versioned(get(), &t));
    return t;
  }

 private:
  template <typename F>
  static matrix make(F f) {
    volley_matrix* m;
    check(f(&m));
    return matrix(m);
  }
  column product(const device& d, bool transposed, double alpha, const column& x, double beta, const volley_column* y, const token* stop) const {
    volley_column* c;
    check(volley_matrix_gemv(d.get(), transposed, alpha, get(), x.get(), beta, y, stop ? stop->get() : nullptr, &c));
    return column(c);
  }
  static volley_matrix* import(DLManagedTensorVersioned* tensor) {
    volley_matrix* m;
    check(volley_matrix_from_dlpack_versioned(tensor, &m));
    return m;
  }
};

}  // namespace volley

#endif  // VOLLEY_COLUMN_HPP
