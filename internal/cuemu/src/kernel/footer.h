// What the emulator's compiler puts behind the text of a module: for each kernel NAME a line CUEMU_ENTRY(NAME), through which the driver
// finds the kernel and the sizes of its parameters.
#define CUEMU_VISIBLE extern "C" __attribute__((visibility("default")))
struct cuemu_entry_t {
  const char* name;
  void (*call)(void** params);
  unsigned count;
  const unsigned* sizes;
};
template <unsigned... I> struct cuemu_list {};
template <unsigned N, unsigned... I> struct cuemu_upto : cuemu_upto<N - 1, N - 1, I...> {};
template <unsigned... I> struct cuemu_upto<0, I...> { typedef cuemu_list<I...> type; };
template <class... A> struct cuemu_kernel_of {
  static constexpr unsigned count = sizeof...(A);
  static constexpr unsigned sizes[sizeof...(A) + 1] = {sizeof(A)..., 0};
  template <void (*F)(A...), unsigned... I> CUEMU_RAW static void spread(void** params, cuemu_list<I...>) { F(*(A*)params[I]...); }
  template <void (*F)(A...)> CUEMU_RAW static void call(void** params) { spread<F>(params, typename cuemu_upto<sizeof...(A)>::type()); }
};
template <class... A> cuemu_kernel_of<A...> cuemu_signature(void (*)(A...));
#define CUEMU_ENTRY(NAME)                                                                                       \
  CUEMU_VISIBLE const cuemu_entry_t cuemu_entry_##NAME = {#NAME, decltype(cuemu_signature(NAME))::template call<NAME>, \
                                                          decltype(cuemu_signature(NAME))::count, decltype(cuemu_signature(NAME))::sizes};
extern "C" char __ehdr_start[] __attribute__((visibility("hidden"))), _end[] __attribute__((visibility("hidden")));
extern "C" char __start_cuemu_shared[] __attribute__((weak, visibility("hidden"))), __stop_cuemu_shared[] __attribute__((weak, visibility("hidden")));
CUEMU_VISIBLE char* const cuemu_image[4] = {__ehdr_start, _end, __start_cuemu_shared, __stop_cuemu_shared};
