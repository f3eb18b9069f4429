// A function of the program's own, a stream, and two ranks that work together, which are threads here: ranks FOLDER, an empty folder.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <thread>
#include <volley.hpp>

// Checks what is printed, so that the example is a test too.
static std::atomic<int> wrong{0};
static void expect(bool ok, const char* what) {
  if (!ok) std::fprintf(stderr, "wrong: %s\n", what), wrong++;
}

static void functions(const volley::device& cpu) {
  volley::register_function<double(double, double)>("hypotenuse", [](double a, double b) { return std::sqrt(a * a + b * b); },
                                                    "FN f64 hypotenuse(f64 a, f64 b) { return sqrt(a * a + b * b); }");
  volley::register_function<int64_t(int64_t)>("never", [](int64_t) -> int64_t { throw std::runtime_error("out of ink"); });
  std::vector<volley::column> sides;
  sides.emplace_back(std::vector<double>{3, 5, 8});
  sides.emplace_back(std::vector<double>{4, 12, 15});
  auto c = volley::apply(cpu, "hypotenuse", {&sides[0], &sides[1]});
  for (double v : c.as<double>()) std::printf("%g\n", v);
  volley::table t(cpu, {"a", "b"}, sides);
  auto longest = t.lazy().select({"hypotenuse(a, b) as c"}).sort({{"c", true}}).collect();
  expect(longest["c"].as<double>()[0] == 17, "a function in an expression");
  try {
    volley::column one(std::vector<int64_t>{1});
    volley::apply(cpu, "never", {&one});
    expect(false, "an exception was lost");
  } catch (const volley::error& e) {
    expect(e.status() == VOLLEY_VALUE && std::string(e.what()).find("out of ink") != std::string::npos, e.what());
  }
  volley::token stop;
  int told = 0;
  stop.on_progress(1000, [&](const volley_progress& done) { return told++, done.read <= 3; });
  t.lazy().collect(&stop);
  expect(told >= 1, "progress");
}

static void streams(const volley::device& d) {
  volley::stream s(d);
  volley::event begin(d), end(d);
  auto there = s.through();
  s.record(begin);
  volley::column host(std::vector<int64_t>{30, 10, 20});
  auto c = host.to(there);
  auto sorted = c.take(there, c.order(there));
  s.record(end);
  s.wait();
  end.wait();
  expect(end.done() && end.since(begin) >= 0, "events");
  auto back = sorted.to(volley::device("cpu"));
  expect(back.as<int64_t>()[0] == 10 && back.as<int64_t>()[2] == 30, "a sort on a stream");
  ArrowDeviceArray array;
  ArrowSchema schema;
  sorted.export_to(&array, &schema);
  volley::column again(&array, &schema);
  volley::column third(again.to_dlpack());
  expect(third.size() == 3 && third.where().name() == d.name(), "arrays and tensors of a device");
  std::vector<volley::column> columns;
  columns.push_back(third.slice(0, 2));
  volley::table t(d, {"x"}, columns);
  ArrowDeviceArrayStream batches;
  t.to(d).export_to(&batches);
  expect(volley::table(&batches).rows() == 2, "a stream of device arrays");
}

static void products(const volley::device& d) {
  volley::column running = volley::cumulative(d, volley::column(std::vector<int64_t>{1, 2, 3}));
  expect(running.to(volley::device("cpu")).as<int64_t>()[2] == 6, "a cumulative sum");
  volley_cumulative_options before{};
  before.size = sizeof before;
  before.exclusive = 1;
  auto least = volley::cumulative(d, volley::column(std::vector<double>{2, 1}), "product", &before);
  expect(least.as<double>()[0] == 1 && least.as<double>()[1] == 2, "a cumulative product of the rows before");
}

// Tables on both ranks: each has three rows.
static void tables(const volley::comm& world, int64_t me, const std::string& folder) {
  std::vector<volley::column> columns;
  columns.emplace_back(std::vector<int64_t>{1, 2, 1 + me});
  columns.emplace_back(std::vector<double>{0.5, 1.5, 2.5});
  volley::distributed d(world, volley::table(volley::device("cpu"), {"k", "v"}, columns));
  auto sums = d.filter(volley::expr("v > 1")).group_by({"k"}, {{"sum", "v"}}).sort({{"k"}});
  expect(sums.rows() == 2 && d.distinct({"k"}).rows() == 2, "groups of both ranks");
  auto sorted = d.sort({{"v", true}, {"k"}});
  expect(!d.equal(sorted) && d.equal(sorted, true) && d.head(4).rows() == 4, "rows in another order");
  expect(d.union_with(sorted).subtract(d).rows() == 0 && d.select({"v"}).top_k(1, {{"v"}}).rows() == 1, "sets");
  expect(d.even().local().rows() == 3 && d.with_row_number("row").intersect(d.with_row_number("row")).rows() == 6, "numbers");
  d.write(folder);
  expect(volley::distributed::scan(world, {folder}).equal(d), "a folder that both wrote");
  auto parts = d.local().partition({"k"}, 2);
  expect(parts[0].rows() + parts[1].rows() == 3 && d.local().partition_round_robin(2)[0].rows() == 2, "partitions");
}

static void rank(const std::string& address, int64_t me) {
  volley::comm world(address, me, 2);
  std::vector<double> gradient{1.0 + me, 10}, sum(2), all(4);
  world.all_reduce(gradient.data(), sum.data(), 2);
  expect(sum[0] == 3 && sum[1] == 20, "all_reduce");
  world.start_all_reduce(gradient.data(), sum.data(), 2, "max").wait();
  expect(sum[0] == 2, "start_all_reduce");
  world.all_gather(gradient.data(), 2, all.data());
  expect(all[0] == 1 && all[2] == 2, "all_gather");
  world.broadcast(sum.data(), 2, 1);
  world.reduce_scatter(gradient.data(), sum.data(), 1);
  expect(sum[0] == (me == 0 ? 3 : 20), "reduce_scatter");
  world.all_to_all(gradient.data(), sum.data(), 1);
  world.reduce(gradient.data(), sum.data(), 2, 0);
  world.gather(gradient.data(), 2, all.data(), 1);
  world.scatter(all.data(), sum.data(), 1, 1);
  if (me == 0) {
    world.send(gradient.data(), 2, 1);
  } else {
    world.receive(sum.data(), 2, 0);
    expect(sum[0] == 1, "receive");
  }
  std::vector<double> blocks{1, 2, 3}, mine(me == 0 ? 2 : 4); // each gives one element to rank 0 and two to rank 1
  world.all_to_all_v(blocks.data(), {1, 2}, mine.data(), {me + 1, me + 1});
  expect(mine[0] == (me == 0 ? 1 : 2) && mine[1] == (me == 0 ? 1 : 3), "all_to_all_v");
  std::vector<double> joined(3);
  world.all_gather_v(blocks.data(), joined.data(), {1, 2});
  expect(joined[0] == 1 && joined[2] == 2, "all_gather_v");
  try {
    world.all_gather_v(blocks.data(), joined.data(), {1});
    expect(false, "one count for two ranks");
  } catch (const std::invalid_argument&) {
  }
  auto fused = world.fuse();
  auto first = fused.all_reduce(gradient.data(), sum.data(), 1);
  fused.all_reduce(gradient.data() + 1, sum.data() + 1, 1, "max");
  fused.wait();
  first.wait();
  fused.close();
  expect(sum[0] == 3 && sum[1] == 10, "fused reductions");
  expect(world.sub({1, 0}).rank() == 1 - me && world.explain<double>("all_reduce", 8).find("AllReduce of 8 float64") == 0, "sub and explain");
  volley::device cpu("cpu");
  auto reduced = volley::device_vector::room<double>(cpu, 2);
  volley::device_vector(volley::column(gradient)).all_reduce(world, reduced);
  expect(reduced.to_column().as<double>()[0] == 3 && reduced.size() == 2, "a vector");
  tables(world, me, address.substr(7) + " of a table");
  world.barrier();
  expect(!world.split(-1), "a rank without a color");
  if (me == 1) return; // it leaves
  try {
    world.all_reduce(gradient.data(), sum.data(), 2);
    expect(false, "a rank that left was not missed");
  } catch (const volley::error& e) {
    auto fault = world.fault();
    expect(e.status() == VOLLEY_FAULT && fault.first == "left" && fault.second == std::vector<int64_t>{1}, e.what());
  }
  expect(world.shrink().size() == 1, "shrink");
}

int main(int argc, char** argv) try {
  volley::device cpu("cpu");
  functions(cpu);
  streams(cpu);
  products(cpu);
  if (argc > 1) {
    std::string address = std::string("file://") + argv[1] + "/meeting";
    std::thread other(rank, address, 1);
    rank(address, 0);
    other.join();
  }
  return wrong;
} catch (const volley::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
