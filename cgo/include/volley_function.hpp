// Functions of the program, called by volley for each row: part of volley.hpp, which includes it.
#ifndef VOLLEY_FUNCTION_HPP
#define VOLLEY_FUNCTION_HPP

#include <cstdio>
#include <exception>
#include <mutex>

namespace volley {
namespace detail {

template <typename R, typename... A>
struct body {
  std::function<R(A...)> f;

  template <size_t... I>
  void run(int64_t rows, R* out, const void* const* args, std::index_sequence<I...>) const {
    for (int64_t i = 0; i < rows; i++) out[i] = f(static_cast<const A*>(args[I])[i]...);
  }
  static int32_t call(void* self, int64_t rows, void* values, const void* const* args, char* message, int64_t size) {
    try {
      static_cast<const body*>(self)->run(rows, static_cast<R*>(values), args, std::index_sequence_for<A...>());
      return VOLLEY_OK;
    } catch (const std::exception& e) {
      std::snprintf(message, static_cast<size_t>(size), "%s", e.what());
    } catch (...) {
      std::snprintf(message, static_cast<size_t>(size), "an exception");
    }
    return VOLLEY_VALUE;
  }
};

}  // namespace detail

// Makes a function of numbers known under a name, for apply and for expressions, as long as the process lives: register_function<double(double,
// double)>("hypotenuse", f). It is called by several threads at once; what it throws is the error of the call. source is the same for GPUs.
template <typename>
struct function_type;

template <typename R, typename... A>
struct function_type<R(A...)> {
  static void add(const std::string& name, std::function<R(A...)> f, const std::string& source) {
    static std::vector<std::unique_ptr<detail::body<R, A...>>> kept; // for as long as the process lives
    static std::mutex lock;
    const char* types[] = {type_name<A>()..., type_name<R>()};
    auto own = f ? std::make_unique<detail::body<R, A...>>(detail::body<R, A...>{std::move(f)}) : nullptr;
    check(volley_function_register(name.c_str(), types, sizeof...(A) + 1, own ? detail::body<R, A...>::call : nullptr, own.get(),
                                   source.empty() ? nullptr : source.c_str()));
    std::lock_guard<std::mutex> guard(lock);
    if (own) kept.push_back(std::move(own));
  }
};

template <typename Signature>
void register_function(const std::string& name, std::function<Signature> f, const std::string& source = {}) {
  function_type<Signature>::add(name, std::move(f), source);
}

// Calls a function of that name for each row of the columns.
inline column apply(const device& d, const std::string& name, const std::vector<const column*>& args) {
  std::vector<const volley_column*> all;
  for (const column* c : args) all.push_back(c->get());
  return column::make([&](volley_column** out) {
    return volley_apply(d.get(), name.c_str(), all.data(), static_cast<int64_t>(all.size()), nullptr, out);
  });
}

}  // namespace volley

#endif  // VOLLEY_FUNCTION_HPP
