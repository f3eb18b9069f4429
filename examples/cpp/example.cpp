// Late flights by state, from vectors of C++ and from files: example FOLDER, the repository's testdata/flights.
#include <cstdio>
#include <volley.hpp>

// Checks what is printed, so that the example is a test too.
static int expect(bool ok, const char* what) {
  if (!ok) std::fprintf(stderr, "wrong: %s\n", what);
  return ok ? 0 : 1;
}

// What is no element of a column does not compile.
static_assert(volley::is_element<int8_t> && volley::is_element<uint64_t> && volley::is_element<float> && volley::is_element<double>);
static_assert(!volley::is_element<long double> && !volley::is_element<bool> && !volley::is_element<std::string> && !volley::is_element<char32_t> &&
              !volley::is_element<const char*> && !volley::is_element<volley_order>);

static bool refused(const std::function<void()>& f, const char* text) {
  try {
    f();
  } catch (const std::exception& e) {
    return std::string(e.what()).find(text) != std::string::npos;
  }
  return false;
}

// Texts, bools, and values that may be null: both ways.
static int values() {
  int wrong = 0;
  volley::column texts(std::vector<std::string>{"", "café", std::string(100, 'x'), "日本"});
  wrong += expect(texts.type() == "utf8" && texts.size() == 4, "a column of texts");
  auto back = texts.as<std::string_view>();
  wrong += expect(back[0].empty() && back[1] == "café" && back[3] == "日本", "texts");
  std::string all;
  for (std::string_view s : texts.slice(1, 2).as<std::string_view>()) all += s;
  wrong += expect(all == "café" + std::string(100, 'x'), "a slice of texts");
  volley::column maybe(std::vector<std::optional<std::string>>{"a", std::nullopt, "c"});
  auto some = maybe.nullable<std::string_view>();
  wrong += expect(maybe.null_count() == 1 && some[0] == "a" && !some[1] && some.is_null(1) && some[2] == "c", "texts with nulls");
  volley::column numbers(std::vector<std::optional<int16_t>>{std::nullopt, 5, -7});
  auto n = numbers.slice(1, 2).nullable<int16_t>();
  wrong += expect(numbers.type() == "int16" && n[0] == 5 && n[1] == -7 && !numbers.nullable<int16_t>()[0], "numbers with nulls");
  volley::column flags(std::vector<bool>{true, false, true, true, false, false, false, false, true});
  wrong += expect(flags.type() == "bool" && flags.as<bool>()[8] && !flags.as<bool>()[4] && flags.slice(3, 2).as<bool>()[0], "bools");
  volley::column unsure(std::vector<std::optional<bool>>{true, std::nullopt});
  wrong += expect(unsure.nullable<bool>()[0] == true && !unsure.nullable<bool>()[1], "bools with nulls");
  wrong += expect(volley::column(std::vector<std::string>()).size() == 0 && volley::column(std::vector<int64_t>()).size() == 0, "nothing");
  wrong += expect(refused([&] { maybe.as<std::string_view>(); }, "nulls"), "nulls as plain texts");
  wrong += expect(refused([&] { texts.as<int64_t>(); }, "utf8 as int64"), "texts as numbers");
  wrong += expect(refused([&] { numbers.nullable<int32_t>(); }, "int16 as int32"), "numbers as others");
  wrong += expect(refused([&] { numbers.nullable<std::string_view>(); }, "int16 as texts"), "numbers as texts");
  for (const char* bad : {"\xff", "a\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    wrong += expect(refused([&] { volley::column(std::vector<std::string>{"good", bad}); }, "text 1 is not UTF-8"), "what is not UTF-8");
  }
  return wrong;
}

// Joins with a suffix, the first rows in an order, distinct rows, unions.
static int queries(const volley::device& cpu) {
  int wrong = 0;
  std::vector<volley::column> columns;
  columns.emplace_back(std::vector<std::string>{"b", "a", "b", "c"});
  columns.emplace_back(std::vector<int64_t>{1, 2, 3, 4});
  volley::table t(cpu, {"k", "v"}, columns);
  volley::join_options options;
  options.suffix = "_2";
  auto joined = t.lazy().join(t.lazy(), "inner", {"k"}, {"k"}, options).collect();
  wrong += expect(joined.rows() == 6 && joined.names() == std::vector<std::string>{"k", "v", "v_2"}, "a join's suffix");
  auto top = t.lazy().top_k(2, {{"v", true}}).collect();
  wrong += expect(top["v"].as<int64_t>()[0] == 4 && top["v"].as<int64_t>()[1] == 3 && top["k"].as<std::string_view>()[0] == "c", "top_k");
  wrong += expect(t.lazy().distinct({"k"}).collect().rows() == 3 && t.lazy().distinct().collect().rows() == 4, "distinct");
  auto one = t.lazy(), two = t.lazy().head(1);
  wrong += expect(one.union_with(two).collect().rows() == 5 && one.union_with({&two, &two}).collect().rows() == 6, "unions");
  wrong += expect(t.lazy().drop({"v"}).rename("k", "key").collect().names() == std::vector<std::string>{"key"}, "drop and rename");
  wrong += expect(t.lazy().describe().rows() > 0, "describe");
  auto few = t.lazy().filter("v > 1");
  auto run = few.run_profiled();
  wrong += expect(run.rows.rows() == 3 && run.measured.show().find("filter v > 1") != std::string::npos && run.measured.show("json").front() == '{', "a profile");
  wrong += expect(few.explain().find("filter v > 1") != std::string::npos && few.explain(true).front() == '{', "a plan");
  wrong += expect(refused([&] { run.measured.show("pdf"); }, "pdf"), "a profile as nobody shows it");
  volley::set_memory_limit(int64_t(1) << 40);
  wrong += expect(volley::memory().second == int64_t(1) << 40, "a memory limit");
  volley::set_memory_limit(0);
  wrong += expect(volley::version() == VOLLEY_VERSION, "one version");
  return wrong;
}

// Batches of a table: each row comes once an epoch.
static int batches(const volley::device& cpu) {
  int wrong = 0;
  std::vector<volley::column> columns;
  columns.emplace_back(std::vector<double>{1, 2, 3, 4, 5});
  columns.emplace_back(std::vector<int64_t>{10, 20, 30, 40, 50});
  volley::table t(cpu, {"x", "y"}, columns);
  volley::loader_options options;
  options.batch = 2;
  options.labels = {"y"};
  options.type = "float64";
  options.shuffle = true;
  options.epochs = 1;
  options.remainder = "uneven";
  volley::loader loader(t, options);
  double sum = 0, labels = 0;
  int64_t rows = 0;
  while (auto b = loader.next()) {
    auto features = b.features(), targets = b.labels();
    auto which = b.rows();
    rows += b.info().rows;
    wrong += expect(features.on_host() && features.shape() == std::vector<int64_t>{b.info().rows, 1}, "a batch's shape");
    for (int64_t i = 0; i < features.size(); i++) {
      sum += features.data<double>()[i * features.strides()[0]];
      labels += targets.data<float>()[i];
      wrong += expect(which.data<int64_t>()[i] == static_cast<int64_t>(features.data<double>()[i]) - 1, "a batch's rows");
    }
    wrong += expect(refused([&] { features.data<float>(); }, "float32"), "elements of another type");
    wrong += expect(refused([&] { b.features(); }, "handed out before"), "a tensor twice");
  }
  wrong += expect(rows == 5 && sum == 15 && labels == 150 && loader.figures().rows == 5 && !loader.report().empty(), "an epoch");
  options.batch = 0;
  wrong += expect(refused([&] { volley::loader none(t, options); }, "volley_loader_open"), "batches of no rows");
  return wrong;
}

int main(int argc, char** argv) try {
  volley::device cpu("cpu");
  int wrong = values() + queries(cpu) + batches(cpu);

  std::vector<double> delays{30, 5, 12, 4};
  const double* memory = delays.data();
  std::vector<volley::column> columns;
  columns.emplace_back(std::vector<int64_t>{1, 2, 1, 2});
  columns.emplace_back(std::move(delays)); // the column has the vector's memory now
  wrong += expect(columns[1].as<double>().begin() == memory, "a vector was copied");
  volley::table flights(cpu, {"route", "delay"}, columns);
  auto means = flights.lazy().group_by({"route"}, {{"mean", "delay"}, {"count"}}).sort({{"mean_delay", true}}).collect();
  for (double mean : means["mean_delay"].as<double>()) std::printf("%g\n", mean);
  wrong += expect(means["mean_delay"].as<double>()[0] == 21 && means["count"].as<int64_t>()[1] == 2, "the means");

  ArrowArrayStream stream;
  flights.export_to(&stream);
  volley::table back(cpu, &stream);
  wrong += expect(back["delay"].as<double>().begin() == memory, "a stream was copied");

  try {
    flights.lazy().filter("dely > 15").collect();
    wrong += expect(false, "an unknown column was found");
  } catch (const volley::error& e) {
    wrong += expect(e.status() == VOLLEY_MISMATCH && std::string(e.what()).find("delay") != std::string::npos, e.what());
  }

  if (argc > 1) {
    std::string folder = argv[1];
    auto late = volley::scan_parquet(folder + "/flights-1m.parquet")
                    .on(cpu)
                    .filter("distance >= 500")
                    .join(volley::scan_csv(folder + "/airports.csv"), "inner", {"origin"}, {"iata"})
                    .group_by({"state"}, {{"count"}, {"mean", "delay"}})
                    .sort({{"mean_delay", true}})
                    .head(3)
                    .collect();
    std::printf("%s", late.str().c_str());
    volley::csv_options text;
    text.types = {{"iata", "utf8"}};
    text.nulls = {"WY"};
    auto airports = volley::scan_csv(folder + "/airports.csv", text).filter("state is null").collect();
    wrong += expect(airports.rows() > 0 && airports["state"].nullable<std::string_view>().is_null(0), "options of CSV");
    wrong += expect(late["count"].as<int64_t>()[0] == 133, "the flights from WY");

    volley::scan_options old;
    old.int96 = "us";
    wrong += expect(volley::scan_parquet(folder + "/flights-1m.parquet", old).head(3).collect().rows() == 3, "options of Parquet");
    old.int96 = "days";
    try {
      volley::scan_parquet(folder + "/flights-1m.parquet", old).collect();
      wrong += expect(false, "a unit that there is not");
    } catch (const volley::error& e) {
      wrong += expect(e.status() == VOLLEY_MISMATCH, e.what());
    }
  }
  return wrong;
} catch (const volley::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
