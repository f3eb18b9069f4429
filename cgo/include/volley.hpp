// volley.hpp: volley for C++17, over volley.h. Objects own their handles, errors are exceptions, and arrays go in and out by Arrow's C structures,
// which nanoarrow and Arrow C++ read and fill.
#ifndef VOLLEY_HPP
#define VOLLEY_HPP

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "volley.h"
#include "volley_values.hpp"

namespace volley {

// The version of the library that is loaded; VOLLEY_VERSION is the headers'.
std::string version();

// A call that failed: what() is the library's message.
class error : public std::runtime_error {
 public:
  error(int32_t status, const volley_error& e) : std::runtime_error(e.message), status_(status), kind_(e.kind), device_(e.device) {}
  int32_t status() const noexcept { return status_; }
  const std::string& kind() const noexcept { return kind_; }
  const std::string& device() const noexcept { return device_; }

 private:
  int32_t status_;
  std::string kind_, device_;
};

inline void check(int32_t status) {
  if (status != VOLLEY_OK) throw error(status, *volley_last_error());
}

namespace detail {

// The owner of one handle: moved, never copied.
template <typename T, int32_t (*Free)(T*)>
class handle {
 public:
  handle() = default;
  explicit handle(T* p) noexcept : p_(p) {}
  handle(handle&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  handle& operator=(handle&& o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~handle() {
    if (p_) Free(p_);
  }
  T* get() const noexcept { return p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }

 private:
  T* p_ = nullptr;
};

inline std::string take(char* text) {
  std::string s(text);
  volley_string_free(text);
  return s;
}

inline std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> all;
  for (const auto& t : texts) all.push_back(t.c_str());
  return all;
}

template <typename T, typename H>
std::vector<const T*> handles(const std::vector<H>& objects) {
  std::vector<const T*> all;
  for (const auto& o : objects) all.push_back(o.get());
  return all;
}

}  // namespace detail

// Makes long calls stoppable, from any thread.
class token : public detail::handle<volley_token, volley_token_free> {
 public:
  token() : handle(make()) {}
  void cancel() const { check(volley_token_cancel(get())); }
  // Has f called about every interval milliseconds while a call with the token runs, from another thread; false cancels the token.
  void on_progress(int64_t interval, std::function<bool(const volley_progress&)> f) {
    auto next = std::make_unique<std::function<bool(const volley_progress&)>>(std::move(f));
    check(volley_token_progress(get(), interval, told, next.get()));
    progress_ = std::move(next);
  }

 private:
  static int32_t told(void* f, const volley_progress* done) {
    try {
      return (*static_cast<std::function<bool(const volley_progress&)>*>(f))(*done) ? 0 : 1;
    } catch (...) { // nothing may go through C as an exception
      return 1;
    }
  }
  std::unique_ptr<std::function<bool(const volley_progress&)>> progress_;

  static volley_token* make() {
    volley_token* t;
    check(volley_token_new(0, &t));
    return t;
  }
};

class device : public detail::handle<volley_device, volley_device_free> {
 public:
  explicit device(const std::string& name = "auto") : handle(open(name)) {}
  explicit device(volley_device* d) noexcept : handle(d) {}
  std::string name() const {
    char* text;
    check(volley_device_name(get(), &text));
    return detail::take(text);
  }

 private:
  static volley_device* open(const std::string& name) {
    volley_device* d;
    check(volley_device_open(name.c_str(), &d));
    return d;
  }
};

// A point in the work of a stream.
class event : public detail::handle<volley_event, volley_event_free> {
 public:
  explicit event(const device& d) : handle(make(d)) {}
  bool done() const {
    int64_t is;
    check(volley_event_done(get(), &is));
    return is != 0;
  }
  void wait(const token* stop = nullptr) const { check(volley_event_wait(get(), stop ? stop->get() : nullptr)); }
  // The seconds on the device from one event to this one.
  double since(const event& start) const {
    double seconds;
    check(volley_event_elapsed(start.get(), get(), &seconds));
    return seconds;
  }

 private:
  static volley_event* make(const device& d) {
    volley_event* e;
    check(volley_event_new(d.get(), &e));
    return e;
  }
};

// An ordered queue of work on a device: calls that are given through() as their device return when their work is enqueued.
class stream : public detail::handle<volley_stream, volley_stream_free> {
 public:
  explicit stream(const device& d) : handle(make(d)) {}
  device through() const {
    volley_device* d;
    check(volley_stream_device(get(), &d));
    return device(d);
  }
  void wait(const token* stop = nullptr) const { check(volley_stream_wait(get(), stop ? stop->get() : nullptr)); }
  void record(const event& e) const { check(volley_stream_record(get(), e.get())); }
  void wait(const event& e) const { check(volley_stream_wait_event(get(), e.get())); }

 private:
  static volley_stream* make(const device& d) {
    volley_stream* s;
    check(volley_stream_new(d.get(), &s));
    return s;
  }
};

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

class expr : public detail::handle<volley_expr, volley_expr_free> {
 public:
  using handle::handle;
  // As SQL writes it: expr("delay > 15").
  expr(const char* text) : handle(parse(text)) {}
  expr(const std::string& text) : expr(text.c_str()) {}

 private:
  static volley_expr* parse(const char* text) {
    volley_expr* e;
    check(volley_expr_parse(text, &e));
    return e;
  }
};

// One aggregation: {"mean", "delay"}, {"count"}, {"sum", "delay * 2", "double"}.
struct aggregate {
  std::string op, input = {}, name = {};
};

// One key of a sort.
struct order {
  std::string key;
  bool descending = false, nulls_first = false;
};

// How rows of a join are matched and named.
struct join_options {
  std::string suffix = "_right"; // of right columns whose name is taken
  bool nulls_equal = false;      // null matches null
  bool any_order = false;        // rows in whatever order is fastest
};

// How CSV is read.
struct csv_options {
  char delimiter = ',';
  bool header = true;
  std::vector<std::string> names = {};                          // of the columns
  std::vector<std::pair<std::string, std::string>> types = {};  // of columns whose type is given: {{"delay", "int64"}}
  std::vector<std::string> nulls = {};                          // texts that mean null; none is the empty text
  int64_t sample_rows = 0;                                      // rows that types are guessed from; 0 is 10,000
  bool lenient = false;                                         // leave out records that are wrong
};

class table;

// A plan; every operation gives a new one.
class query : public detail::handle<volley_query, volley_query_free> {
 public:
  using handle::handle;
  query filter(const expr& condition) const {
    return make([&](volley_query** q) { return volley_query_filter(get(), condition.get(), q); });
  }
  query select(const std::vector<std::string>& items) const {
    std::vector<expr> all(items.begin(), items.end());
    auto list = detail::handles<volley_expr>(all);
    return make([&](volley_query** q) { return volley_query_select(get(), list.data(), list.size(), q); });
  }
  query with_column(const std::string& name, const expr& value) const {
    return make([&](volley_query** q) { return volley_query_with_column(get(), name.c_str(), value.get(), q); });
  }
  /* All values see the query's columns as they are. */
  query with_columns(const std::vector<std::string>& names, const std::vector<std::string>& values) const {
    if (names.size() != values.size()) throw std::invalid_argument("as many names as values");
    std::vector<expr> all(values.begin(), values.end());
    auto list = detail::handles<volley_expr>(all);
    auto n = detail::pointers(names);
    return make([&](volley_query** q) { return volley_query_with_columns(get(), n.data(), list.data(), list.size(), q); });
  }
  /* Renames from[i] to to[i], all at once. */
  query rename_columns(const std::vector<std::string>& from, const std::vector<std::string>& to) const {
    if (from.size() != to.size()) throw std::invalid_argument("as many names before as after");
    auto f = detail::pointers(from), t = detail::pointers(to);
    return make([&](volley_query** q) { return volley_query_rename_columns(get(), f.data(), t.data(), static_cast<int64_t>(f.size()), q); });
  }
  query drop(const std::vector<std::string>& names) const {
    auto list = detail::pointers(names);
    return make([&](volley_query** q) { return volley_query_drop(get(), list.data(), static_cast<int64_t>(list.size()), q); });
  }
  query rename(const std::string& from, const std::string& to) const {
    return make([&](volley_query** q) { return volley_query_rename(get(), from.c_str(), to.c_str(), q); });
  }
  // kind is inner, left, right, full, semi, anti or cross.
  query join(const query& right, const std::string& kind, const std::vector<std::string>& left_keys, const std::vector<std::string>& right_keys,
             const join_options& options = join_options()) const {
    volley_join_options how{};
    how.size = sizeof how;
    how.nulls_equal = options.nulls_equal;
    how.any_order = options.any_order;
    how.suffix = options.suffix.c_str();
    auto l = detail::pointers(left_keys), r = detail::pointers(right_keys);
    if (l.size() != r.size()) throw std::invalid_argument("as many keys on the left as on the right");
    return make([&](volley_query** q) {
      return volley_query_join(get(), right.get(), kind.c_str(), l.data(), r.data(), static_cast<int64_t>(l.size()), &how, q);
    });
  }
  query group_by(const std::vector<std::string>& keys, const std::vector<aggregate>& aggregates) const {
    std::vector<expr> by(keys.begin(), keys.end()), inputs;
    std::vector<volley_aggregate> rows;
    for (const auto& a : aggregates) {
      volley_aggregate row{};
      row.op = a.op.c_str();
      row.name = a.name.empty() ? nullptr : a.name.c_str();
      if (!a.input.empty()) row.input = inputs.emplace_back(a.input).get();
      rows.push_back(row);
    }
    auto list = detail::handles<volley_expr>(by);
    return make([&](volley_query** q) {
      return volley_query_group_by(get(), list.data(), static_cast<int64_t>(list.size()), rows.data(), static_cast<int64_t>(rows.size()), nullptr, q);
    });
  }
  query sort(const std::vector<order>& by) const {
    ordered keys(by);
    return make([&](volley_query** q) { return volley_query_sort(get(), keys.rows.data(), static_cast<int64_t>(keys.rows.size()), q); });
  }
  // The first k rows in an order.
  query top_k(int64_t k, const std::vector<order>& by) const {
    ordered keys(by);
    return make([&](volley_query** q) { return volley_query_top_k(get(), k, keys.rows.data(), static_cast<int64_t>(keys.rows.size()), q); });
  }
  // The first row of each set of equal ones in some columns, or in all.
  query distinct(const std::vector<std::string>& names = {}) const {
    auto list = detail::pointers(names);
    return make([&](volley_query** q) { return volley_query_distinct(get(), list.data(), static_cast<int64_t>(list.size()), q); });
  }
  // The rows of this query and then those of others with the same columns.
  query union_with(const std::vector<const query*>& others) const {
    std::vector<const volley_query*> list;
    for (const query* o : others) list.push_back(o->get());
    return make([&](volley_query** q) { return volley_query_union(get(), list.data(), static_cast<int64_t>(list.size()), q); });
  }
  query union_with(const query& other) const { return union_with(std::vector<const query*>{&other}); }
  query slice(int64_t offset, int64_t length) const {
    return make([&](volley_query** q) { return volley_query_slice(get(), offset, length, q); });
  }
  query head(int64_t n) const { return slice(0, n); }
  query on(const device& d) const {
    return make([&](volley_query** q) { return volley_query_on(get(), d.get(), q); });
  }
  std::string explain() const {
    char* text;
    check(volley_query_explain(get(), nullptr, &text));
    return detail::take(text);
  }
  table collect(const token* stop = nullptr) const;
  // Counts, means, extremes of each column.
  table describe(const token* stop = nullptr) const;

  template <typename F>
  static query make(F f) {
    volley_query* q;
    check(f(&q));
    return query(q);
  }

 private:
  struct ordered {
    std::vector<expr> keys;
    std::vector<volley_order> rows;
    explicit ordered(const std::vector<order>& by) {
      for (const auto& o : by) rows.push_back({keys.emplace_back(o.key).get(), o.descending, o.nulls_first});
    }
  };
};

class table : public detail::handle<volley_table, volley_table_free> {
 public:
  using handle::handle;
  table(const device& d, const std::vector<std::string>& names, const std::vector<column>& columns) : handle(make(d, names, columns)) {}
  // Moves a stream of Arrow's in.
  table(const device& d, ArrowArrayStream* stream) : handle(import(d, stream)) {}
  // Moves a stream of arrays in that are on a device, where the table is then.
  explicit table(ArrowDeviceArrayStream* stream) : handle(import(stream)) {}

  int64_t rows() const {
    int64_t n;
    check(volley_table_rows(get(), &n));
    return n;
  }
  std::vector<std::string> names() const {
    int64_t n;
    check(volley_table_columns(get(), &n));
    std::vector<std::string> all;
    for (int64_t i = 0; i < n; i++) {
      char* text;
      check(volley_table_name(get(), i, &text));
      all.push_back(detail::take(text));
    }
    return all;
  }
  column operator[](const std::string& name) const {
    volley_column* c;
    check(volley_table_column(get(), name.c_str(), nullptr, &c));
    return column(c);
  }
  query lazy() const {
    return query::make([&](volley_query** q) { return volley_query_table(get(), q); });
  }
  void export_to(ArrowArrayStream* stream) const { check(volley_table_export(get(), stream)); }
  void export_to(ArrowDeviceArrayStream* stream) const { check(volley_table_export_device(get(), stream)); }
  table to(const device& d) const {
    volley_table* t;
    check(volley_table_to(get(), d.get(), nullptr, &t));
    return table(t);
  }
  void write(const std::string& path) const { check(volley_table_write(get(), path.c_str(), nullptr, nullptr)); }
  std::string str() const {
    char* text;
    check(volley_table_format(get(), 10, 0, &text));
    return detail::take(text);
  }

 private:
  static volley_table* make(const device& d, const std::vector<std::string>& names, const std::vector<column>& columns) {
    if (names.size() != columns.size()) throw std::invalid_argument("as many names as columns");
    auto n = detail::pointers(names);
    auto c = detail::handles<volley_column>(columns);
    volley_table* t;
    check(volley_table_new(d.get(), n.data(), c.data(), static_cast<int64_t>(n.size()), nullptr, &t));
    return t;
  }
  static volley_table* import(const device& d, ArrowArrayStream* stream) {
    volley_table* t;
    check(volley_table_import(d.get(), stream, nullptr, nullptr, &t));
    return t;
  }
  static volley_table* import(ArrowDeviceArrayStream* stream) {
    volley_table* t;
    check(volley_table_import_device(stream, nullptr, nullptr, &t));
    return t;
  }
};

inline table query::collect(const token* stop) const {
  volley_table* t;
  check(volley_query_collect(get(), stop ? stop->get() : nullptr, &t));
  return table(t);
}

inline table query::describe(const token* stop) const {
  volley_table* t;
  check(volley_query_describe(get(), stop ? stop->get() : nullptr, &t));
  return table(t);
}

namespace detail {

// csv_options as the library reads them.
struct csv_structure {
  std::vector<const char*> names, type_names, types, nulls;
  char delimiter[2];
  volley_csv_options o{};

  explicit csv_structure(const csv_options& given) : names(pointers(given.names)), nulls(pointers(given.nulls)), delimiter{given.delimiter, 0} {
    for (const auto& [name, type] : given.types) {
      type_names.push_back(name.c_str());
      types.push_back(type.c_str());
    }
    o.size = sizeof o;
    o.delimiter = delimiter;
    o.no_header = !given.header;
    o.names = names.data(), o.names_count = static_cast<int64_t>(names.size());
    o.type_names = type_names.data(), o.types = types.data(), o.types_count = static_cast<int64_t>(types.size());
    o.nulls = nulls.data(), o.nulls_count = static_cast<int64_t>(nulls.size());
    o.sample_rows = given.sample_rows;
    o.lenient = given.lenient;
  }
  csv_structure(const csv_structure&) = delete;
  csv_structure& operator=(const csv_structure&) = delete;
};

}  // namespace detail

inline query scan_parquet(const std::vector<std::string>& paths) {
  auto list = detail::pointers(paths);
  return query::make([&](volley_query** q) { return volley_scan_parquet(list.data(), static_cast<int64_t>(list.size()), q); });
}
inline query scan_parquet(const std::string& path) { return scan_parquet(std::vector<std::string>{path}); }

inline query scan_csv(const std::vector<std::string>& paths, const csv_options& options = csv_options()) {
  auto list = detail::pointers(paths);
  detail::csv_structure how(options);
  return query::make([&](volley_query** q) { return volley_scan_csv(list.data(), static_cast<int64_t>(list.size()), &how.o, q); });
}
inline query scan_csv(const std::string& path, const csv_options& options = csv_options()) { return scan_csv(std::vector<std::string>{path}, options); }

inline query scan_ipc(const std::vector<std::string>& paths) {
  auto list = detail::pointers(paths);
  return query::make([&](volley_query** q) { return volley_scan_ipc(list.data(), static_cast<int64_t>(list.size()), q); });
}
inline query scan_ipc(const std::string& path) { return scan_ipc(std::vector<std::string>{path}); }

inline std::string version() {
  char* text;
  check(volley_version(&text));
  return detail::take(text);
}

// What the library holds of the host's memory in bytes, and may hold; 0 is no limit.
inline std::pair<int64_t, int64_t> memory() {
  std::pair<int64_t, int64_t> m;
  check(volley_memory(&m.first, &m.second));
  return m;
}
inline void set_memory_limit(int64_t limit) { check(volley_set_memory_limit(limit)); }

}  // namespace volley

#include "volley_comm.hpp"
#include "volley_vector.hpp"
#include "volley_function.hpp"
#include "volley_loader.hpp"

#endif  // VOLLEY_HPP
