// Training batches: part of volley.hpp, which includes it.
#ifndef VOLLEY_LOADER_HPP
#define VOLLEY_LOADER_HPP

namespace volley {

namespace detail {

// DLPack's structure, as dlpack.h has it.
struct dl_tensor {
  void* data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct dl_managed {
  dl_tensor tensor;
  void* context;
  void (*deleter)(dl_managed*);
};

// How DLPack writes the type of T: 0 are signed integers, 1 unsigned ones, 2 floats.
template <typename T>
constexpr uint8_t dl_code() {
  static_assert(is_element<T>, "volley: a tensor has integers, float or double");
  return std::is_floating_point_v<T> ? 2 : std::is_signed_v<T> ? 0 : 1;
}

}  // namespace detail

// A tensor of a batch in host memory or a device's. The memory goes back to the loader when it and the batch are gone.
class tensor {
 public:
  explicit tensor(DLManagedTensor* t) noexcept : t_(reinterpret_cast<detail::dl_managed*>(t)) {}
  tensor(tensor&& o) noexcept : t_(std::exchange(o.t_, nullptr)) {}
  tensor& operator=(tensor&& o) noexcept {
    std::swap(t_, o.t_);
    return *this;
  }
  ~tensor() {
    if (t_ && t_->deleter) t_->deleter(t_);
  }
  std::vector<int64_t> shape() const { return {t_->tensor.shape, t_->tensor.shape + t_->tensor.ndim}; }
  // Elements from one to the next in each dimension.
  std::vector<int64_t> strides() const { return {t_->tensor.strides, t_->tensor.strides + t_->tensor.ndim}; }
  int64_t size() const {
    int64_t n = 1;
    for (int64_t k : shape()) n *= k;
    return n;
  }
  bool on_host() const noexcept { return t_->tensor.device_type == 1 || t_->tensor.device_type == 3; }
  // Where its first element is, in host memory.
  template <typename T>
  T* data() const {
    if (t_->tensor.code != detail::dl_code<std::remove_cv_t<T>>() || t_->tensor.bits != 8 * sizeof(T)) {
      throw std::invalid_argument(std::string("a tensor of other elements than ") + type_name<T>());
    }
    if (!on_host()) throw std::invalid_argument("a tensor in a device's memory has no elements that C++ can read: release() hands it over");
    return reinterpret_cast<T*>(static_cast<char*>(t_->tensor.data) + t_->tensor.byte_offset);
  }
  // Hands the managed tensor over, to who deletes it.
  DLManagedTensor* release() noexcept { return reinterpret_cast<DLManagedTensor*>(std::exchange(t_, nullptr)); }

 private:
  detail::dl_managed* t_;
};

// One batch of a loader. Each tensor of it is handed out once.
class batch : public detail::handle<volley_batch, volley_batch_free> {
 public:
  using handle::handle;
  volley_batch_info info() const {
    volley_batch_info i{};
    i.size = sizeof i;
    check(volley_batch_describe(get(), &i));
    return i;
  }
  // The matrices of features and labels, one column of the layout "columns" or of lists, and the numbers of the rows.
  tensor features() const { return part(VOLLEY_BATCH_FEATURES); }
  tensor labels() const { return part(VOLLEY_BATCH_LABELS); }
  tensor column(const std::string& name) const { return part(VOLLEY_BATCH_COLUMN, name.c_str()); }
  tensor offsets(const std::string& name) const { return part(VOLLEY_BATCH_OFFSETS, name.c_str()); }
  tensor rows() const { return part(VOLLEY_BATCH_ROWS); }
  // The masks of those, of bytes: 0 for null.
  tensor feature_mask() const { return part(VOLLEY_BATCH_FEATURES, nullptr, 1); }
  tensor label_mask() const { return part(VOLLEY_BATCH_LABELS, nullptr, 1); }
  tensor column_mask(const std::string& name) const { return part(VOLLEY_BATCH_COLUMN, name.c_str(), 1); }

 private:
  tensor part(int32_t which, const char* name = nullptr, int32_t mask = 0) const {
    DLManagedTensor* t;
    check(volley_batch_to_dlpack(get(), which, name, mask, &t));
    return tensor(t);
  }
};

// What a loader makes of its rows. The text and list members of more come from here; its others are the library's own options, for what has no member.
struct loader_options {
  int64_t batch = 0;                        // rows of a batch
  std::vector<std::string> features = {};   // none are all columns that are no labels
  std::vector<std::string> labels = {};
  std::string layout = "row_major", type = {}, label_type = {};
  bool masks = false, shuffle = false;
  uint64_t seed = 0;
  int64_t rank = 0, ranks = 1;
  std::string remainder = "pad";            // or "drop", "uneven"
  int64_t epochs = 0, workers = 0, prefetch = 0;
  std::string state = {};                   // where to go on: what state() gave
  volley_loader_options more{};             // the fields that are not here
};

namespace detail {

// loader_options as the library reads them.
struct loader_structure {
  std::vector<const char*> features, labels;
  volley_loader_options o;

  explicit loader_structure(const loader_options& given) : features(pointers(given.features)), labels(pointers(given.labels)), o(given.more) {
    auto text = [](const std::string& s) { return s.empty() ? nullptr : s.c_str(); };
    o.size = sizeof o;
    o.features = features.empty() ? nullptr : features.data(), o.features_count = static_cast<int64_t>(features.size());
    o.labels = labels.empty() ? nullptr : labels.data(), o.labels_count = static_cast<int64_t>(labels.size());
    o.layout = text(given.layout), o.type = text(given.type), o.label_type = text(given.label_type);
    o.masks = given.masks, o.shuffle = given.shuffle, o.seed = given.seed;
    o.batch = given.batch, o.rank = given.rank, o.ranks = given.ranks;
    o.remainder = text(given.remainder), o.state = text(given.state);
    o.epochs = given.epochs, o.workers = given.workers, o.prefetch = given.prefetch;
  }
  loader_structure(const loader_structure&) = delete;
  loader_structure& operator=(const loader_structure&) = delete;
};

}  // namespace detail

// Batches of a table's rows or of files', made ahead of who uses them. next gives none, that is false, at the end of an epoch.
class loader : public detail::handle<volley_loader, volley_loader_free> {
 public:
  using handle::handle;
  loader(const table& t, const loader_options& options, const token* stop = nullptr) : handle(open(t, options, stop)) {}
  // Paths of files, patterns of their names, and folders.
  loader(const std::vector<std::string>& paths, const loader_options& options, const token* stop = nullptr) : handle(open(paths, nullptr, nullptr, options, stop)) {}
  loader(const std::vector<std::string>& paths, const csv_options& csv, const loader_options& options, const token* stop = nullptr)
      : handle(open(paths, &csv, nullptr, options, stop)) {}
  loader(const std::vector<std::string>& paths, const scan_options& scan, const loader_options& options, const token* stop = nullptr)
      : handle(open(paths, nullptr, &scan, options, stop)) {}

  batch next(const token* stop = nullptr) const {
    volley_batch* b;
    check(volley_loader_next(get(), of(stop), &b));
    return batch(b);
  }
  // Where the loader stands, as JSON.
  std::string state(const token* stop = nullptr) const {
    char* text;
    check(volley_loader_state(get(), of(stop), &text));
    return detail::take(text);
  }
  volley_loader_figures figures() const {
    volley_loader_figures f{};
    f.size = sizeof f;
    check(volley_loader_stats(get(), &f));
    return f;
  }
  std::string report() const {
    char* text;
    check(volley_loader_report(get(), &text));
    return detail::take(text);
  }

 private:
  static volley_token* of(const token* t) { return t ? t->get() : nullptr; }
  static volley_loader* open(const table& t, const loader_options& options, const token* stop) {
    detail::loader_structure how(options);
    volley_loader* l;
    check(volley_loader_open(t.get(), &how.o, of(stop), &l));
    return l;
  }
  static volley_loader* open(const std::vector<std::string>& paths, const csv_options* csv, const scan_options* scan, const loader_options& options,
                             const token* stop) {
    detail::loader_structure how(options);
    auto list = detail::pointers(paths);
    detail::csv_structure text(csv ? *csv : csv_options());
    volley_file_options files{};
    files.size = sizeof files;
    files.csv = csv ? &text.o : nullptr;
    const auto binary = detail::scan_structure(scan ? *scan : scan_options());
    files.scan = scan ? &binary : nullptr;
    volley_loader* l;
    check(volley_loader_open_files(list.data(), static_cast<int64_t>(list.size()), &files, &how.o, of(stop), &l));
    return l;
  }
};

}  // namespace volley

#endif  // VOLLEY_LOADER_HPP
