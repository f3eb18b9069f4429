// Collective operations: part of volley.hpp, which includes it.
#ifndef VOLLEY_COMM_HPP
#define VOLLEY_COMM_HPP

namespace volley {

namespace detail {
template <typename T>
std::pair<std::string, std::vector<int64_t>> fault_of(int32_t (*f)(const T*, int64_t*, int64_t, char**, int64_t*), const T* of) {
  std::vector<int64_t> ranks(64);
  char* cause;
  int64_t n;
  check(f(of, ranks.data(), static_cast<int64_t>(ranks.size()), &cause, &n));
  ranks.resize(static_cast<size_t>(n < 64 ? n : 64));
  return {take(cause), ranks};
}
}  // namespace detail

// An operation that was started; its vectors belong to it until wait returns.
class request : public detail::handle<volley_request, volley_request_free> {
 public:
  using handle::handle;
  void wait(const token* stop = nullptr) const { check(volley_request_wait(get(), stop ? stop->get() : nullptr)); }
  bool done() const {
    int64_t is;
    check(volley_request_done(get(), &is));
    return is != 0;
  }
};

// Makes one operation of many small reductions: comm::fuse makes it. Vectors belong to it until wait, or that of the request, returns.
class fuser : public detail::handle<volley_fuser, volley_fuser_free> {
 public:
  using handle::handle;
  template <typename T>
  request all_reduce(const T* from, T* to, int64_t n, const char* op = "sum") const {
    volley_request* r;
    check(volley_fuser_all_reduce(get(), from, to, n, type_name<T>(), op, &r));
    return request(r);
  }
  void wait(const token* stop = nullptr) const { check(volley_fuser_wait(get(), stop ? stop->get() : nullptr)); }
  // What ended the fuser's own group, as of comm.
  std::pair<std::string, std::vector<int64_t>> fault() const { return detail::fault_of(volley_fuser_fault, get()); }
  // Waits for all that was given, on all ranks. A fuser that ends without it ends what is not done.
  void close(const token* stop = nullptr) const { check(volley_fuser_close(get(), stop ? stop->get() : nullptr)); }
};

// A rank's membership in a group: all ranks make the same calls in the same order. Vectors are n elements of T; a failed operation is an error
// whose status is VOLLEY_FAULT, and fault says who is to blame.
class comm : public detail::handle<volley_comm, volley_comm_free> {
 public:
  using handle::handle;
  // The ranks that a launcher started.
  comm() : handle(init(nullptr)) {}
  explicit comm(const volley_comm_options& options) : handle(init(&options)) {}
  // Ranks that meet at tcp://host:port or file:///path.
  comm(const std::string& address, int64_t rank, int64_t ranks) : handle(init(address, rank, ranks)) {}

  int64_t rank() const { return number(volley_comm_rank); }
  int64_t size() const { return number(volley_comm_size); }
  std::string transport() const {
    char* text;
    check(volley_comm_transport(get(), &text));
    return detail::take(text);
  }
  // Which algorithm an operation ("all_reduce") of n elements would use and why.
  template <typename T>
  std::string explain(const char* op, int64_t n) const {
    char* text;
    check(volley_comm_explain(get(), op, n, type_name<T>(), &text));
    return detail::take(text);
  }
  // None, that is false, for a rank whose color is negative.
  comm split(int64_t color, int64_t key = 0, const token* stop = nullptr) const {
    return make([&](volley_comm** c) { return volley_comm_split(get(), color, key, of(stop), c); });
  }
  // Some of the ranks, numbered in the order given. Only these ranks call it.
  comm sub(const std::vector<int64_t>& ranks, const token* stop = nullptr) const {
    return make([&](volley_comm** c) { return volley_comm_sub(get(), ranks.data(), static_cast<int64_t>(ranks.size()), of(stop), c); });
  }
  comm shrink(const token* stop = nullptr) const {
    return make([&](volley_comm** c) { return volley_comm_shrink(get(), of(stop), c); });
  }
  // Admits others, who call enter, so that there are ranks of them; they meet at the address, or where the group met at first.
  comm grow(int64_t ranks, const std::string& address = {}, const token* stop = nullptr) const {
    return make([&](volley_comm** c) { return volley_comm_grow(get(), ranks, address.empty() ? nullptr : address.c_str(), of(stop), c); });
  }
  static comm enter(const volley_comm_options& options, const token* stop = nullptr) {
    return make([&](volley_comm** c) { return volley_comm_enter(&options, of(stop), c); });
  }
  static comm enter(const std::string& address, int64_t rank, int64_t ranks) { return enter(at(address, rank, ranks)); }
  // An operation starts with so many bytes of vectors, or when the first has waited for delay milliseconds; 0 are the defaults.
  fuser fuse(int64_t bytes = 0, int64_t delay = 0, const token* stop = nullptr) const {
    volley_fuser* f;
    check(volley_fuser_new(get(), bytes, delay, of(stop), &f));
    return fuser(f);
  }
  // NCCL carries the vectors of the device from now on: see volley.h.
  void use_nccl(const device& d, const token* stop = nullptr) const { check(volley_comm_use_nccl(get(), d.get(), of(stop))); }
  // What ended the group's work, "" where nothing did, and the ranks to blame.
  std::pair<std::string, std::vector<int64_t>> fault() const { return detail::fault_of(volley_comm_fault, get()); }

  void barrier(const token* stop = nullptr) const { check(volley_comm_barrier(get(), of(stop))); }
  template <typename T>
  void all_reduce(const T* from, T* to, int64_t n, const char* op = "sum", const token* stop = nullptr) const {
    check(volley_comm_all_reduce(get(), from, to, n, type_name<T>(), op, of(stop)));
  }
  template <typename T>
  request start_all_reduce(const T* from, T* to, int64_t n, const char* op = "sum") const {
    volley_request* r;
    check(volley_comm_start_all_reduce(get(), from, to, n, type_name<T>(), op, &r));
    return request(r);
  }
  template <typename T>
  void reduce(const T* from, T* to, int64_t n, int64_t root, const char* op = "sum", const token* stop = nullptr) const {
    check(volley_comm_reduce(get(), from, to, n, type_name<T>(), op, root, of(stop)));
  }
  template <typename T>
  void broadcast(T* data, int64_t n, int64_t root, const token* stop = nullptr) const {
    check(volley_comm_broadcast(get(), data, data, n, type_name<T>(), root, of(stop)));
  }
  template <typename T>
  void all_gather(const T* from, int64_t n, T* to, const token* stop = nullptr) const {
    check(volley_comm_all_gather(get(), from, n, to, nullptr, type_name<T>(), of(stop)));
  }
  template <typename T>
  void gather(const T* from, int64_t n, T* to, int64_t root, const token* stop = nullptr) const {
    check(volley_comm_gather(get(), from, n, to, nullptr, type_name<T>(), root, of(stop)));
  }
  template <typename T>
  void reduce_scatter(const T* from, T* to, int64_t n, const char* op = "sum", const token* stop = nullptr) const {
    check(volley_comm_reduce_scatter(get(), from, nullptr, to, n, type_name<T>(), op, of(stop)));
  }
  template <typename T>
  void scatter(const T* from, T* to, int64_t n, int64_t root, const token* stop = nullptr) const {
    check(volley_comm_scatter(get(), from, nullptr, to, n, type_name<T>(), root, of(stop)));
  }
  template <typename T>
  void all_to_all(const T* from, T* to, int64_t n, const token* stop = nullptr) const {
    check(volley_comm_all_to_all(get(), from, to, n, type_name<T>(), of(stop)));
  }
  // sends[r] elements go to rank r, receives[r] come from it.
  template <typename T>
  void all_to_all_v(const T* from, const std::vector<int64_t>& sends, T* to, const std::vector<int64_t>& receives, const token* stop = nullptr) const {
    each("all_to_all_v", sends);
    each("all_to_all_v", receives);
    check(volley_comm_all_to_all_v(get(), from, sends.data(), to, receives.data(), type_name<T>(), of(stop)));
  }
  // counts are the elements of each rank, here and below.
  template <typename T>
  void all_gather_v(const T* from, T* to, const std::vector<int64_t>& counts, const token* stop = nullptr) const {
    check(volley_comm_all_gather(get(), from, own("all_gather_v", counts), to, counts.data(), type_name<T>(), of(stop)));
  }
  template <typename T>
  void gather_v(const T* from, T* to, const std::vector<int64_t>& counts, int64_t root, const token* stop = nullptr) const {
    check(volley_comm_gather(get(), from, own("gather_v", counts), to, counts.data(), type_name<T>(), root, of(stop)));
  }
  template <typename T>
  void reduce_scatter_v(const T* from, T* to, const std::vector<int64_t>& counts, const char* op = "sum", const token* stop = nullptr) const {
    check(volley_comm_reduce_scatter(get(), from, counts.data(), to, own("reduce_scatter_v", counts), type_name<T>(), op, of(stop)));
  }
  template <typename T>
  void scatter_v(const T* from, T* to, const std::vector<int64_t>& counts, int64_t root, const token* stop = nullptr) const {
    check(volley_comm_scatter(get(), from, counts.data(), to, own("scatter_v", counts), type_name<T>(), root, of(stop)));
  }
  template <typename T>
  void send(const T* from, int64_t n, int64_t rank, const token* stop = nullptr) const {
    check(volley_comm_send(get(), from, n, type_name<T>(), rank, of(stop)));
  }
  template <typename T>
  void receive(T* to, int64_t n, int64_t rank, const token* stop = nullptr) const {
    check(volley_comm_receive(get(), to, n, type_name<T>(), rank, of(stop)));
  }

 private:
  static volley_token* of(const token* t) { return t ? t->get() : nullptr; }
  int64_t number(int32_t (*f)(const volley_comm*, int64_t*)) const {
    int64_t n;
    check(f(get(), &n));
    return n;
  }
  // C reads as many counts as there are ranks.
  void each(const char* call, const std::vector<int64_t>& counts) const {
    if (static_cast<int64_t>(counts.size()) != size())
      throw std::invalid_argument(std::string(call) + ": " + std::to_string(counts.size()) + " counts for " + std::to_string(size()) + " ranks");
  }
  int64_t own(const char* call, const std::vector<int64_t>& counts) const {
    each(call, counts);
    return counts[static_cast<size_t>(rank())];
  }
  template <typename F>
  static comm make(F f) {
    volley_comm* c;
    check(f(&c));
    return comm(c);
  }
  static volley_comm* init(const volley_comm_options* options) {
    volley_comm* c;
    check(volley_comm_init(options, nullptr, &c));
    return c;
  }
  static volley_comm_options at(const std::string& address, int64_t rank, int64_t ranks) {
    volley_comm_options o{};
    o.size = sizeof o;
    o.address = address.c_str();
    o.rank = rank;
    o.ranks = ranks;
    return o;
  }
  static volley_comm* init(const std::string& address, int64_t rank, int64_t ranks) {
    auto o = at(address, rank, ranks);
    return init(&o);
  }
};

}  // namespace volley

#endif  // VOLLEY_COMM_HPP
