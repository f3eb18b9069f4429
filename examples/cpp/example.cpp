// Late flights by state, from vectors of C++ and from files: example FOLDER, the repository's testdata/flights.
#include <cstdio>
#include <volley.hpp>

// Checks what is printed, so that the example is a test too.
static int expect(bool ok, const char* what) {
  if (!ok) std::fprintf(stderr, "wrong: %s\n", what);
  return ok ? 0 : 1;
}

int main(int argc, char** argv) try {
  volley::device cpu("cpu");
  int wrong = 0;

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
    wrong += expect(late["count"].as<int64_t>()[0] == 133, "the flights from WY");
  }
  return wrong;
} catch (const volley::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
