// Collective operations: part of volley.hpp, which includes it.
#ifndef VOLLEY_COMM_HPP
#define VOLLEY_COMM_HPP

namespace volley {

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
  // None, that is false, for a rank whose color is negative.
  comm split(int64_t color, int64_t key = 0) const {
    volley_comm* c;
    check(volley_comm_split(get(), color, key, nullptr, &c));
    return comm(c);
  }
  comm shrink() const {
    volley_comm* c;
    check(volley_comm_shrink(get(), nullptr, &c));
    return comm(c);
  }
  // What ended the group's work, "" where nothing did, and the ranks to blame.
  std::pair<std::string, std::vector<int64_t>> fault() const {
    std::vector<int64_t> ranks(64);
    char* cause;
    int64_t n;
    check(volley_comm_fault(get(), ranks.data(), static_cast<int64_t>(ranks.size()), &cause, &n));
    ranks.resize(static_cast<size_t>(n < 64 ? n : 64));
    return {detail::take(cause), ranks};
  }

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
  static volley_comm* init(const volley_comm_options* options) {
    volley_comm* c;
    check(volley_comm_init(options, nullptr, &c));
    return c;
  }
  static volley_comm* init(const std::string& address, int64_t rank, int64_t ranks) {
    volley_comm_options o{};
    o.size = sizeof o;
    o.address = address.c_str();
    o.rank = rank;
    o.ranks = ranks;
    return init(&o);
  }
};

}  // namespace volley

#endif  // VOLLEY_COMM_HPP
