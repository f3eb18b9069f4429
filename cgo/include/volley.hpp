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

template <typename Call>
std::string text_of(Call call) {
  char* text;
  check(call(&text));
  return take(text);
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
    return detail::text_of([&](char** t) { return volley_device_name(get(), t); });
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

}  // namespace volley

#include "volley_column.hpp"

namespace volley {

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
  std::string where;             // what pairs must meet besides, as SQL writes it; inner, left, semi, anti
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
  bool hive = true;                                             // folders named key=value give columns
};

// How Parquet and Arrow IPC are read.
struct scan_options {
  std::string int96 = "ns";  // of Parquet: the unit of timestamps of 96 bits, "ns", "us" or "ms"
  int64_t max_unpacked = 0;  // of Arrow IPC: bytes that the compressed buffers of a batch may become; 0 is 256 MiB, or 1,024 times what they take
  bool hive = true;          // folders named key=value give columns
};

namespace detail {

// Keys of a sort as C takes them, with the expressions that they point at.
struct ordered {
  std::vector<expr> keys;
  std::vector<volley_order> rows;
  explicit ordered(const std::vector<order>& by) {
    for (const auto& o : by) rows.push_back({keys.emplace_back(o.key).get(), o.descending, o.nulls_first});
  }
  int64_t size() const { return static_cast<int64_t>(rows.size()); }
};

// Aggregates as C takes them, with the expressions that they point at. The texts stay the caller's.
struct aggregated {
  std::vector<expr> inputs;
  std::vector<volley_aggregate> rows;
  explicit aggregated(const std::vector<aggregate>& all) {
    for (const auto& a : all) {
      volley_aggregate row{};
      row.op = a.op.c_str();
      row.name = a.name.empty() ? nullptr : a.name.c_str();
      if (!a.input.empty()) row.input = inputs.emplace_back(a.input).get();
      rows.push_back(row);
    }
  }
  int64_t size() const { return static_cast<int64_t>(rows.size()); }
};

}  // namespace detail

class table;
struct profiled;

// What a run of a query measured, shown as "text", "json", "html", "fragment" or "chrome".
class profile : public detail::handle<volley_profile, volley_profile_free> {
 public:
  using handle::handle;
  std::string show(const std::string& format = "text") const {
    return detail::text_of([&](char** t) { return volley_profile_render(get(), format.c_str(), t); });
  }
};

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
  /* The one value of another query in every row; null where it has no row. */
  query with_scalar(const std::string& name, const query& other) const {
    return make([&](volley_query** q) { return volley_query_with_scalar(get(), name.c_str(), other.get(), q); });
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
    std::vector<expr> where;
    if (!options.where.empty()) how.where = where.emplace_back(options.where).get();
    auto l = detail::pointers(left_keys), r = detail::pointers(right_keys);
    if (l.size() != r.size()) throw std::invalid_argument("as many keys on the left as on the right");
    return make([&](volley_query** q) {
      return volley_query_join(get(), right.get(), kind.c_str(), l.data(), r.data(), static_cast<int64_t>(l.size()), &how, q);
    });
  }
  query group_by(const std::vector<std::string>& keys, const std::vector<aggregate>& aggregates) const {
    std::vector<expr> by(keys.begin(), keys.end());
    detail::aggregated rows(aggregates);
    auto list = detail::handles<volley_expr>(by);
    return make([&](volley_query** q) {
      return volley_query_group_by(get(), list.data(), static_cast<int64_t>(list.size()), rows.rows.data(), rows.size(), nullptr, q);
    });
  }
  query sort(const std::vector<order>& by) const {
    detail::ordered keys(by);
    return make([&](volley_query** q) { return volley_query_sort(get(), keys.rows.data(), keys.size(), q); });
  }
  // The first k rows in an order.
  query top_k(int64_t k, const std::vector<order>& by) const {
    detail::ordered keys(by);
    return make([&](volley_query** q) { return volley_query_top_k(get(), k, keys.rows.data(), keys.size(), q); });
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
  // The distinct rows that other has too, or has not.
  query intersect(const query& other) const {
    return make([&](volley_query** q) { return volley_query_intersect(get(), other.get(), q); });
  }
  query subtract(const query& other) const {
    return make([&](volley_query** q) { return volley_query_except(get(), other.get(), q); });
  }
  query union_with(const query& other) const { return union_with(std::vector<const query*>{&other}); }
  query slice(int64_t offset, int64_t length) const {
    return make([&](volley_query** q) { return volley_query_slice(get(), offset, length, q); });
  }
  query head(int64_t n) const { return slice(0, n); }
  query on(const device& d) const {
    return make([&](volley_query** q) { return volley_query_on(get(), d.get(), q); });
  }
  // The plan; as JSON with its estimates and pipelines.
  std::string explain(bool json = false) const {
    return detail::text_of([&](char** t) { return json ? volley_query_explain_json(get(), nullptr, t) : volley_query_explain(get(), nullptr, t); });
  }
  // Collects the rows and measures each step.
  profiled run_profiled(const token* stop = nullptr) const;
  table collect(const token* stop = nullptr) const;
  // Counts, means, extremes of each column.
  table describe(const token* stop = nullptr) const;

  template <typename F>
  static query make(F f) {
    volley_query* q;
    check(f(&q));
    return query(q);
  }
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
      all.push_back(detail::text_of([&](char** t) { return volley_table_name(get(), i, t); }));
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
  /* length rows from offset on, which counts from the end if it is below 0. */
  table slice(int64_t offset, int64_t length) const {
    volley_table* t;
    check(volley_table_slice(get(), offset, length, &t));
    return table(t);
  }
  static table concat(const std::vector<table>& tables) {
    auto list = detail::handles<volley_table>(tables);
    volley_table* t;
    check(volley_table_concat(list.data(), list.size(), nullptr, &t));
    return table(t);
  }
  /* Tables of rows whose keys are of one hash: equal keys are in one of them. */
  std::vector<table> partition(const std::vector<std::string>& keys, int64_t parts) const {
    auto list = detail::pointers(keys);
    return split(parts, [&](volley_table** out) {
      return volley_table_partition(get(), list.data(), static_cast<int64_t>(list.size()), parts, nullptr, out);
    });
  }
  std::vector<table> partition_round_robin(int64_t parts) const {
    return split(parts, [&](volley_table** out) { return volley_table_partition_round_robin(get(), parts, nullptr, out); });
  }
  void write(const std::string& path) const { check(volley_table_write(get(), path.c_str(), nullptr, nullptr)); }
  std::string str() const {
    return detail::text_of([&](char** t) { return volley_table_format(get(), 10, 0, t); });
  }

 private:
  template <class Call>
  static std::vector<table> split(int64_t parts, Call&& call) {
    std::vector<volley_table*> made(static_cast<size_t>(parts < 1 ? 1 : parts));
    std::vector<table> all;
    all.reserve(made.size());
    check(call(made.data()));
    for (volley_table* t : made) all.emplace_back(t);
    return all;
  }
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

// Rows of a query, and what its run measured.
struct profiled {
  table rows;
  profile measured;
};

inline profiled query::run_profiled(const token* stop) const {
  volley_table* t;
  volley_profile* p;
  check(volley_query_profile(get(), stop ? stop->get() : nullptr, &t, &p));
  return {table(t), profile(p)};
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
    o.no_hive = !given.hive;
  }
  csv_structure(const csv_structure&) = delete;
  csv_structure& operator=(const csv_structure&) = delete;
};

// scan_options as the library reads them, as long as those live.
inline volley_scan_options scan_structure(const scan_options& given) {
  volley_scan_options o{};
  o.size = sizeof o;
  o.int96 = given.int96.c_str();
  o.max_unpacked = given.max_unpacked;
  o.no_hive = !given.hive;
  return o;
}

}  // namespace detail

inline query scan_parquet(const std::vector<std::string>& paths, const scan_options& options = scan_options()) {
  auto list = detail::pointers(paths);
  const auto how = detail::scan_structure(options);
  return query::make([&](volley_query** q) { return volley_scan_parquet_with(list.data(), static_cast<int64_t>(list.size()), &how, q); });
}
inline query scan_parquet(const std::string& path, const scan_options& options = scan_options()) { return scan_parquet(std::vector<std::string>{path}, options); }

inline query scan_csv(const std::vector<std::string>& paths, const csv_options& options = csv_options()) {
  auto list = detail::pointers(paths);
  detail::csv_structure how(options);
  return query::make([&](volley_query** q) { return volley_scan_csv(list.data(), static_cast<int64_t>(list.size()), &how.o, q); });
}
inline query scan_csv(const std::string& path, const csv_options& options = csv_options()) { return scan_csv(std::vector<std::string>{path}, options); }

inline query scan_ipc(const std::vector<std::string>& paths, const scan_options& options = scan_options()) {
  auto list = detail::pointers(paths);
  const auto how = detail::scan_structure(options);
  return query::make([&](volley_query** q) { return volley_scan_ipc_with(list.data(), static_cast<int64_t>(list.size()), &how, q); });
}
inline query scan_ipc(const std::string& path, const scan_options& options = scan_options()) { return scan_ipc(std::vector<std::string>{path}, options); }

inline std::string version() {
  return detail::text_of([](char** t) { return volley_version(t); });
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
#include "volley_distributed.hpp"
#include "volley_function.hpp"
#include "volley_loader.hpp"

#endif  // VOLLEY_HPP
