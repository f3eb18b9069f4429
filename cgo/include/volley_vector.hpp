// Collective operations on the memory of devices: part of volley.hpp, which includes it.
#ifndef VOLLEY_VECTOR_HPP
#define VOLLEY_VECTOR_HPP

namespace volley {

// Elements in a device's memory that collective operations read and write. The operations are those of comm, with the same rules.
class device_vector : public detail::handle<volley_vector, volley_vector_free> {
 public:
  using handle::handle;
  // n elements of T on the device, which are undefined.
  template <typename T>
  static device_vector room(const device& d, int64_t n) {
    return make([&](volley_vector** v) { return volley_vector_new(d.get(), type_name<T>(), n, v); });
  }
  // The memory of a column, to be read.
  explicit device_vector(const column& c) : handle(raw([&](volley_vector** v) { return volley_vector_from_column(c.get(), v); })) {}
  // The memory of a tensor, to be read and, unless it is read only, written.
  explicit device_vector(DLManagedTensorVersioned* t)
      : handle(raw([&](volley_vector** v) { return volley_vector_from_dlpack_versioned(t, v); })) {}
  int64_t size() const {
    int64_t n;
    check(volley_vector_length(get(), &n));
    return n;
  }
  // A column of the same memory: nothing may be written to the vector afterwards.
  column to_column() const {
    volley_column* c;
    check(volley_vector_to_column(get(), &c));
    return column(c);
  }

  void all_reduce(const comm& c, device_vector& to, const char* op = "sum", const token* stop = nullptr) const {
    check(volley_vector_all_reduce(c.get(), get(), to.get(), op, of(stop)));
  }
  request start_all_reduce(const comm& c, device_vector& to, const char* op = "sum") const {
    volley_request* r;
    check(volley_vector_start_all_reduce(c.get(), get(), to.get(), op, &r));
    return request(r);
  }
  void all_gather(const comm& c, device_vector& to, const token* stop = nullptr) const {
    check(volley_vector_all_gather(c.get(), get(), to.get(), nullptr, of(stop)));
  }
  void reduce_scatter(const comm& c, device_vector& to, const char* op = "sum", const token* stop = nullptr) const {
    check(volley_vector_reduce_scatter(c.get(), get(), to.get(), nullptr, op, of(stop)));
  }
  void all_to_all(const comm& c, device_vector& to, const token* stop = nullptr) const {
    check(volley_vector_all_to_all(c.get(), get(), to.get(), nullptr, nullptr, of(stop)));
  }
  void all_to_all_v(const comm& c, const std::vector<int64_t>& sends, device_vector& to, const std::vector<int64_t>& receives, const token* stop = nullptr) const {
    const auto ranks = static_cast<size_t>(c.size());
    if (sends.size() != ranks || receives.size() != ranks) throw std::invalid_argument("all_to_all_v: a count for each rank");
    check(volley_vector_all_to_all(c.get(), get(), to.get(), sends.data(), receives.data(), of(stop)));
  }
  // This vector of the root's into that of all ranks, in place.
  void broadcast(const comm& c, int64_t root, const token* stop = nullptr) {
    check(volley_vector_broadcast(c.get(), c.rank() == root ? get() : nullptr, get(), root, of(stop)));
  }
  // Of ranks that are not the root, to is not looked at; of scatter, this.
  void reduce(const comm& c, device_vector& to, int64_t root, const char* op = "sum", const token* stop = nullptr) const {
    check(volley_vector_reduce(c.get(), get(), c.rank() == root ? to.get() : nullptr, op, root, of(stop)));
  }
  void gather(const comm& c, device_vector& to, int64_t root, const token* stop = nullptr) const {
    check(volley_vector_gather(c.get(), get(), c.rank() == root ? to.get() : nullptr, nullptr, root, of(stop)));
  }
  void scatter(const comm& c, device_vector& to, int64_t root, const token* stop = nullptr) const {
    check(volley_vector_scatter(c.get(), c.rank() == root ? get() : nullptr, to.get(), nullptr, root, of(stop)));
  }
  void send(const comm& c, int64_t rank, const token* stop = nullptr) const { check(volley_vector_send(c.get(), get(), rank, of(stop))); }
  void receive(const comm& c, int64_t rank, const token* stop = nullptr) { check(volley_vector_receive(c.get(), get(), rank, of(stop))); }

 private:
  static volley_token* of(const token* t) { return t ? t->get() : nullptr; }
  template <typename F>
  static volley_vector* raw(F f) {
    volley_vector* v;
    check(f(&v));
    return v;
  }
  template <typename F>
  static device_vector make(F f) {
    return device_vector(raw(f));
  }
};

}  // namespace volley

#endif  // VOLLEY_VECTOR_HPP
