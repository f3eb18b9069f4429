// Tables on ranks: part of volley.hpp, which includes it.
#ifndef VOLLEY_DISTRIBUTED_HPP
#define VOLLEY_DISTRIBUTED_HPP

namespace volley {

// This rank's part of a table on the ranks of a group, which all make the same calls in the same order: see volley_distributed.h.
class distributed : public detail::handle<volley_distributed, volley_distributed_free> {
 public:
  using handle::handle;
  distributed(const comm& c, const table& part, const token* stop = nullptr)
      : handle(made([&](volley_distributed** out) { return volley_distributed_new(c.get(), part.get(), of(stop), out); })) {}
  // The root's table over all ranks, or whole on every rank; the others give nullptr. On the best device.
  static distributed scatter(const comm& c, const table* whole, int64_t root = 0, const token* stop = nullptr) {
    return make([&](volley_distributed** out) {
      return volley_distributed_scatter(c.get(), nullptr, whole ? whole->get() : nullptr, root, of(stop), out);
    });
  }
  static distributed broadcast(const comm& c, const table* whole, int64_t root = 0, const token* stop = nullptr) {
    return make([&](volley_distributed** out) {
      return volley_distributed_broadcast(c.get(), nullptr, whole ? whole->get() : nullptr, root, of(stop), out);
    });
  }
  table local() const {
    volley_table* t;
    check(volley_distributed_local(get(), &t));
    return table(t);
  }
  int64_t rows() const {
    int64_t n;
    check(volley_distributed_rows(get(), &n));
    return n;
  }
  // The rows of each rank.
  std::vector<int64_t> counts() const {
    int64_t n;
    check(volley_distributed_counts(get(), nullptr, 0, &n));
    std::vector<int64_t> all(static_cast<size_t>(n));
    check(volley_distributed_counts(get(), all.data(), n, &n));
    return all;
  }
  // "unknown", "hash", "range" or "replicated", and the keys.
  std::pair<std::string, std::vector<std::string>> partitioning() const {
    char* text;
    int64_t n;
    check(volley_distributed_partitioning(get(), &text, &n));
    std::pair<std::string, std::vector<std::string>> found{detail::take(text), {}};
    for (int64_t i = 0; i < n; i++) {
      check(volley_distributed_key(get(), i, &text));
      found.second.push_back(detail::take(text));
    }
    return found;
  }
  bool together(const std::vector<std::string>& columns) const {
    auto list = detail::pointers(columns);
    int64_t is;
    check(volley_distributed_together(get(), list.data(), static_cast<int64_t>(list.size()), &is));
    return is != 0;
  }
  // By the hash of keys; without any row by row to the ranks in turn.
  distributed shuffle(const std::vector<std::string>& keys = {}, const token* stop = nullptr) const {
    auto list = detail::pointers(keys);
    return make([&](volley_distributed** out) {
      if (keys.empty()) return volley_distributed_shuffle_round_robin(get(), of(stop), out);
      return volley_distributed_shuffle(get(), list.data(), static_cast<int64_t>(list.size()), of(stop), out);
    });
  }
  // measure is rows or bytes.
  distributed rebalance(const std::string& measure = "rows", const token* stop = nullptr) const {
    return make([&](volley_distributed** out) { return volley_distributed_rebalance(get(), measure.c_str(), of(stop), out); });
  }
  distributed repartition(const std::vector<int64_t>& counts, const token* stop = nullptr) const {
    return make([&](volley_distributed** out) {
      return volley_distributed_repartition(get(), counts.data(), static_cast<int64_t>(counts.size()), of(stop), out);
    });
  }
  distributed replicate(const token* stop = nullptr) const {
    return make([&](volley_distributed** out) { return volley_distributed_replicate(get(), of(stop), out); });
  }
  // None, that is false, on the other ranks.
  table gather(int64_t root = 0, const token* stop = nullptr) const {
    volley_table* t;
    check(volley_distributed_gather(get(), root, of(stop), &t));
    return table(t);
  }
  // kind is inner, left, right, full, semi, anti or cross.
  distributed join(const distributed& right, const std::string& kind, const std::vector<std::string>& left_keys,
                   const std::vector<std::string>& right_keys, const join_options& options = join_options(), const token* stop = nullptr) const {
    volley_join_options how{};
    how.size = sizeof how;
    how.nulls_equal = options.nulls_equal;
    how.any_order = options.any_order;
    how.suffix = options.suffix.c_str();
    auto l = detail::pointers(left_keys), r = detail::pointers(right_keys);
    if (l.size() != r.size()) told("Join", [] () -> int { throw std::invalid_argument("as many keys on the left as on the right"); });
    return make([&](volley_distributed** out) {
      return volley_distributed_join(get(), right.get(), kind.c_str(), l.data(), r.data(), static_cast<int64_t>(l.size()), &how, of(stop), out);
    });
  }
  // The operators of queries, over the rows of all ranks: see volley_distributed.h.
  distributed filter(const expr& condition, const token* stop = nullptr) const {
    return make([&](volley_distributed** out) { return volley_distributed_filter(get(), condition.get(), of(stop), out); });
  }
  distributed select(const std::vector<std::string>& items, const token* stop = nullptr) const {
    auto all = told("Select", [&] { return std::vector<expr>(items.begin(), items.end()); });
    auto list = detail::handles<volley_expr>(all);
    return make([&](volley_distributed** out) {
      return volley_distributed_select(get(), list.data(), static_cast<int64_t>(list.size()), of(stop), out);
    });
  }
  // any_order leaves groups on the ranks of their keys.
  distributed group_by(const std::vector<std::string>& keys, const std::vector<aggregate>& aggregates, bool any_order = false,
                       const token* stop = nullptr) const {
    auto by = told("GroupBy", [&] { return std::vector<expr>(keys.begin(), keys.end()); });
    auto rows = told("GroupBy", [&] { return detail::aggregated(aggregates); });
    auto list = detail::handles<volley_expr>(by);
    volley_group_options how{};
    how.size = sizeof how;
    how.any_order = any_order;
    return make([&](volley_distributed** out) {
      return volley_distributed_group_by(get(), list.data(), static_cast<int64_t>(list.size()), rows.rows.data(), rows.size(), &how, of(stop), out);
    });
  }
  distributed describe(const token* stop = nullptr) const {
    return make([&](volley_distributed** out) { return volley_distributed_describe(get(), of(stop), out); });
  }
  distributed sort(const std::vector<order>& by, const token* stop = nullptr) const {
    auto keys = told("Sort", [&] { return detail::ordered(by); });
    return make([&](volley_distributed** out) { return volley_distributed_sort(get(), keys.rows.data(), keys.size(), of(stop), out); });
  }
  distributed top_k(int64_t k, const std::vector<order>& by, const token* stop = nullptr) const {
    auto keys = told("TopK", [&] { return detail::ordered(by); });
    return make([&](volley_distributed** out) { return volley_distributed_top_k(get(), k, keys.rows.data(), keys.size(), of(stop), out); });
  }
  distributed distinct(const std::vector<std::string>& names = {}, const token* stop = nullptr) const {
    auto list = detail::pointers(names);
    return make([&](volley_distributed** out) {
      return volley_distributed_distinct(get(), list.data(), static_cast<int64_t>(list.size()), of(stop), out);
    });
  }
  distributed union_with(const distributed& other, const token* stop = nullptr) const {
    const volley_distributed* one = other.get();
    return make([&](volley_distributed** out) { return volley_distributed_union(get(), &one, 1, of(stop), out); });
  }
  distributed intersect(const distributed& other, const token* stop = nullptr) const {
    return make([&](volley_distributed** out) { return volley_distributed_intersect(get(), other.get(), of(stop), out); });
  }
  distributed subtract(const distributed& other, const token* stop = nullptr) const {
    return make([&](volley_distributed** out) { return volley_distributed_except(get(), other.get(), of(stop), out); });
  }
  distributed slice(int64_t offset, int64_t length, const token* stop = nullptr) const {
    return make([&](volley_distributed** out) { return volley_distributed_slice(get(), offset, length, of(stop), out); });
  }
  distributed head(int64_t n, const token* stop = nullptr) const { return slice(0, n, stop); }
  distributed with_row_number(const std::string& name, int64_t first = 0, const token* stop = nullptr) const {
    return make([&](volley_distributed** out) { return volley_distributed_row_number(get(), name.c_str(), first, of(stop), out); });
  }
  distributed even(const token* stop = nullptr) const {
    return make([&](volley_distributed** out) { return volley_distributed_even(get(), of(stop), out); });
  }
  bool equal(const distributed& other, bool any_order = false, const token* stop = nullptr) const {
    int64_t same;
    check(volley_distributed_equal(get(), other.get(), any_order, of(stop), &same));
    return same != 0;
  }
  void write(const std::string& folder, const token* stop = nullptr) const {
    check(volley_distributed_write(get(), folder.c_str(), nullptr, of(stop)));
  }
  // Files, of which each rank reads a part; no columns are all of them.
  static distributed scan(const comm& c, const std::vector<std::string>& paths, const std::vector<std::string>& columns = {},
                          const token* stop = nullptr) {
    auto p = detail::pointers(paths), n = detail::pointers(columns);
    return make([&](volley_distributed** out) {
      return volley_distributed_scan(c.get(), nullptr, p.data(), static_cast<int64_t>(p.size()), n.data(), static_cast<int64_t>(n.size()), of(stop), out);
    });
  }
  static distributed scan_csv(const comm& c, const std::vector<std::string>& paths, const csv_options& options, const std::vector<std::string>& columns = {},
                              const token* stop = nullptr) {
    auto p = detail::pointers(paths), n = detail::pointers(columns);
    detail::csv_structure how(options);
    return make([&](volley_distributed** out) {
      return volley_distributed_scan_csv(c.get(), p.data(), static_cast<int64_t>(p.size()), &how.o, n.data(), static_cast<int64_t>(n.size()), of(stop), out);
    });
  }

 private:
  static volley_token* of(const token* t) { return t ? t->get() : nullptr; }
  // What is refused of a call's arguments here becomes the error of the other ranks too, in place of their waiting for this one.
  template <typename F>
  auto told(const char* operation, F f) const -> decltype(f()) {
    try {
      return f();
    } catch (const std::exception& e) {
      volley_distributed_refuse(nullptr, get(), operation, e.what(), nullptr);
      throw;
    }
  }
  template <typename F>
  static volley_distributed* made(F f) {
    volley_distributed* d;
    check(f(&d));
    return d;
  }
  template <typename F>
  static distributed make(F f) {
    return distributed(made(f));
  }
};

// Gives rank r parts[r], and this one what all have for it, by rank.
inline table exchange(const comm& c, const std::vector<table>& parts, const token* stop = nullptr) {
  std::vector<const volley_table*> list;
  for (const auto& p : parts) list.push_back(p.get());
  volley_table* t;
  check(volley_comm_exchange(c.get(), list.data(), static_cast<int64_t>(list.size()), stop ? stop->get() : nullptr, &t));
  return table(t);
}

}  // namespace volley

#endif  // VOLLEY_DISTRIBUTED_HPP
