#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/schedule/pattern.hpp"
#include "tests/schedule/periodic_plans.hpp"
#include "tests/schedule/windows.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

Report on(NetworkModel network, const RandomCase& random, const Plan& plan, const SpanSink& watch = {}) {
  LowerOptions options;
  options.network = network;
  return evaluate_plan(random.graph, random.platform, plan, options, {}, watch);
}

RandomCase m1_case(const std::vector<std::size_t>& cut, std::int64_t memory) {
  std::vector<std::uint32_t> devices;
  for (std::size_t s = 0; s < cut.size(); ++s) devices.push_back(static_cast<std::uint32_t>(s));
  return {graph_of(vector_m1()), vector_platform(3, 2, memory), star_plan(4, cut, devices)};
}

std::vector<std::int64_t> counts_of(const Plan& plan) { return compiled(plan).in_flight; }

std::vector<std::int64_t> peaks_of(const Report& report) {
  std::vector<std::int64_t> peaks;
  for (const DeviceReport& device : report.devices) peaks.push_back(device.memory.peak.value());
  return peaks;
}

std::vector<std::int64_t> ledger_of(const RandomCase& random, const Plan& plan) {
  std::vector<std::int64_t> peaks;
  for (const auto& [device, peak] : pattern_peaks(random.graph, require_schedule(random.graph, random.platform, plan)))
    peaks.push_back(peak.value());
  return peaks;
}

Plan with_period(Plan plan, const std::string& period) {
  plan.schedule.parameters = {{"period", period}};
  return plan;
}

TEST_CASE("1f1b-star: vector M1, the least period of a cut for each memory") {
  const auto least = [](const std::vector<std::size_t>& cut, std::int64_t memory) {
    const RandomCase m1 = m1_case(cut, memory);
    const Plan plan = with_pattern(m1.graph, m1.platform, m1.plan);
    return std::pair(plan.pattern->period.value(), counts_of(plan));
  };
  using Counts = std::vector<std::int64_t>;
  CHECK(least({0, 1, 2}, 26) == std::pair(12.0, Counts{3, 2, 1}));
  CHECK(least({0, 2, 3}, 25) == std::pair(28.0, Counts{1, 1, 1}));
  CHECK(least({0, 2}, 34) == std::pair(12.0, Counts{3, 1}));
  CHECK(least({0, 2}, 30) == std::pair(14.0, Counts{2, 1}));  // what PipeDream claims to be 12
  // Nothing fits: one microbatch at a time, so that a run shows the overflow. 26 + 4 is all there is to do for one.
  CHECK(least({0, 1, 2}, 25) == std::pair(30.0, Counts{1, 1, 1}));
}

TEST_CASE("1f1b-star: vector M1, memory of every stage by period, as it runs") {
  const std::map<std::string, std::vector<std::int64_t>> peaks = {
      {"12 s", {23, 23, 26}}, {"13 s", {23, 23, 26}}, {"14 s", {23, 23, 26}}, {"16 s", {19, 23, 26}},
      {"19 s", {19, 23, 26}}, {"20 s", {19, 19, 26}}, {"24 s", {19, 19, 26}}, {"30 s", {15, 19, 26}}};
  const RandomCase m1 = m1_case({0, 1, 2}, 100);
  for (const auto& [period, expected] : peaks) {
    CAPTURE(period);
    const Plan plan = with_pattern(m1.graph, m1.platform, with_period(m1.plan, period));
    CHECK(ledger_of(m1, plan) == expected);
    const Report report = on(NetworkModel::Platform, m1, plan);
    CHECK(peaks_of(report) == expected);
    CHECK(report.period->value() == doctest::Approx(plan.pattern->period.value()).epsilon(1e-9));
    for (std::size_t s = 0; s < 3; ++s) CHECK(report.devices[s].in_flight_peak == counts_of(plan)[s]);
  }
}

TEST_CASE("1f1b-star: vector M2, a pattern that is not contiguous") {
  const RandomCase m2{graph_of(vector_m2()), vector_platform(2, 2, 64), plan_m2()};
  REQUIRE(check_plan(m2.graph, m2.platform, m2.plan).empty());
  REQUIRE(refusal_of(m2.plan).empty());
  CHECK(counts_of(m2.plan) == std::vector<std::int64_t>{3, 2, 1});
  CHECK(ledger_of(m2, m2.plan) == std::vector<std::int64_t>{47, 55});
  for (const NetworkModel network : {NetworkModel::Platform, NetworkModel::Analytic}) {
    for (const Plan& plan : {m2.plan, asap(m2.plan)}) {
      const Report report = on(network, m2, plan);
      CHECK(report.period == Seconds(14));
      CHECK(peaks_of(report) == std::vector<std::int64_t>{47, 55});
    }
  }
}

TEST_CASE("1f1b-star: a timed run keeps every start, an asap run every order") {
  const RandomCase m2{graph_of(vector_m2()), vector_platform(2, 2, 64), plan_m2()};
  Timeline timeline;
  on(NetworkModel::Platform, m2, m2.plan, collect_into(timeline));
  std::size_t seen = 0;
  for (const TimelineEntry& entry : timeline) {
    const bool is_cut = is_transfer(entry.kind);
    if (!is_cut && !is_compute(entry.kind)) continue;
    const bool backward = entry.kind == OpKind::Backward || entry.kind == OpKind::Gradient;
    const std::uint32_t index = entry.stage.value() - (is_cut && backward ? 1 : 0);
    const auto planned = std::ranges::find_if(m2.plan.pattern->operations, [&](const PatternOperation& o) {
      return o.is_cut == is_cut && o.backward == backward && o.index == index;
    });
    REQUIRE(planned != m2.plan.pattern->operations.end());
    const double start = 14.0 * static_cast<double>(entry.microbatch + planned->shift) + planned->start.value();
    CHECK(entry.start.value() == start);
    ++seen;
  }
  CHECK(seen == 600);
}

TEST_CASE("1f1b-star: random patterns have the planned period and memory; asap is never slower") {
  std::size_t shared = 0;
  std::size_t faster = 0;
  for (std::uint32_t seed = 1; seed <= 250; ++seed) {
    CAPTURE(seed);
    const RandomCase random = PeriodicPlans(seed).make();
    REQUIRE(check_plan(random.graph, random.platform, random.plan).empty());
    REQUIRE(refusal_of(random.plan).empty());
    const double period = random.plan.pattern->period.value();
    const std::vector<std::int64_t> ledger = ledger_of(random, random.plan);
    for (const NetworkModel network : {NetworkModel::Platform, NetworkModel::Analytic}) {
      const Report timed = on(network, random, random.plan);
      CHECK(timed.period->value() == doctest::Approx(period).epsilon(1e-9));
      CHECK(peaks_of(timed) == ledger);
      const Report soon = on(network, random, asap(random.plan));
      CHECK(soon.period->value() <= period * (1 + 1e-9));
      CHECK(peaks_of(soon) == ledger);
      if (soon.period->value() < period * 0.99) ++faster;
    }
    if (random.plan.stages.size() > random.platform.devices.size()) ++shared;
  }
  CHECK(shared > 50);
  CHECK(faster > 50);
}

TEST_CASE("1f1b-star: random cuts get a pattern that runs as planned") {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    RandomCase random = random_case(seed, {Sharing::Exclusive, false, false, 0.1});
    for (Stage& stage : random.plan.stages) stage.in_flight.reset();
    PlatformSpec spec = random.platform.spec;
    auto& form = std::get<ExplicitForm>(spec.form);
    form.default_link->latency = Seconds(0);
    form.default_link->duplex = Duplex::Half;
    random.platform = build_platform(std::move(spec));
    std::erase_if(random.graph.edges, [](const LayerEdge& edge) { return edge.to.value() > edge.from.value() + 1; });
    random.plan.schedule = {"1f1b-star", {}};
    Plan plan = with_pattern(random.graph, random.platform, random.plan);
    REQUIRE(plan.pattern.has_value());
    plan.microbatches = least_length(plan);
    CHECK(with_pattern(random.graph, random.platform, plan) == plan);
    for (const NetworkModel network : {NetworkModel::Platform, NetworkModel::Analytic}) {
      const Report report = on(network, random, plan);
      // Stages that take no whole number of nanoseconds are planned with up to one more.
      CHECK(report.period->value() == doctest::Approx(plan.pattern->period.value()).epsilon(1e-9));
      CHECK(peaks_of(report) == ledger_of(random, plan));
      CHECK(on(network, random, asap(plan)).period->value() <= plan.pattern->period.value() * (1 + 1e-9));
    }
  }
}

TEST_CASE("1f1b-star: windows of any size give the same run") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    RandomCase random = PeriodicPlans(seed).make();
    random.plan.microbatches += 200;  // several segments
    check_windows(random);
  }
}

TEST_CASE("1f1b-star: free channels have times of their own, but no order") {
  RandomCase m2{graph_of(vector_m2()), vector_platform(2, 2, 64), plan_m2()};
  m2.plan.schedule.parameters = {{"channels", "free"}};
  CHECK(on(NetworkModel::Platform, m2, m2.plan).period == Seconds(14));
  CHECK(on(NetworkModel::Analytic, m2, m2.plan).period == Seconds(14));
  // On full-duplex links nothing waits for a transfer of the other direction.
  m2.platform = pairwise(2, 2);
  CHECK(on(NetworkModel::Platform, m2, m2.plan).period == Seconds(14));
}

TEST_CASE("1f1b-star: boundaries of one pair of devices share one channel, also on the analytic network") {
  // Both cuts of M2 go between the same two devices; the middle stage's tensors are large.
  RandomCase m2{graph_of(vector_m2()), vector_platform(2, 2, 64), asap(plan_m2())};
  for (const NetworkModel network : {NetworkModel::Platform, NetworkModel::Analytic}) {
    Timeline timeline;
    on(network, m2, m2.plan, collect_into(timeline));
    std::vector<std::pair<Seconds, Seconds>> transfers;
    for (const TimelineEntry& entry : timeline) {
      if (is_transfer(entry.kind)) transfers.emplace_back(entry.start, entry.end);
    }
    std::ranges::sort(transfers);
    CHECK(transfers.size() == 240);
    for (std::size_t i = 1; i < transfers.size(); ++i) CHECK(transfers[i - 1].second <= transfers[i].first);
  }
}

TEST_CASE("1f1b-star: a cut carries what is only passed on, too; on the platform's links it goes straight") {
  RandomCase random{chain(4, 1, 2, 1), vector_platform(4, 1, 1000), star_plan(4, {0, 1, 2, 3}, {0, 1, 2, 3})};
  random.graph.edges.push_back({LayerId(0), LayerId(2), Bytes(1)});
  const Plan plan = with_pattern(random.graph, random.platform, random.plan);
  // The first cut 1 s each way, the second 2 s: the tensor of l1 and the one of l0 for l2. Stages take 3 s.
  CHECK(plan.pattern->period == Seconds(4));
  const auto cut = std::ranges::find_if(
      plan.pattern->operations, [](const PatternOperation& o) { return o.is_cut && o.index == 2 && !o.backward; });
  CHECK(cut->start == Seconds(2));  // F0 0, cut 1, F1 2, cut 3, F2 5, cut 6
  CHECK(cut->shift == 1);
  for (const NetworkModel network : {NetworkModel::Platform, NetworkModel::Analytic}) {
    Timeline timeline;
    CHECK(on(network, random, plan, collect_into(timeline)).period == Seconds(4));
    const std::int64_t transfers = network == NetworkModel::Platform ? 4 : 3;
    CHECK(std::ranges::count(timeline, OpKind::Activation, &TimelineEntry::kind) == transfers * plan.microbatches);
  }
}

TEST_CASE("1f1b-star: the optimizer's step counts in the backward") {
  LayerGraph graph = chain(2, 1, 2, 0, 0, 10);
  PlatformSpec spec = vector_platform(2, 1, 1000).spec;
  spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(20);
  const RandomCase random{graph, build_platform(spec), star_plan(2, {0, 1}, {0, 1})};
  const Plan plan = with_pattern(random.graph, random.platform, random.plan);
  CHECK(plan.pattern->period == Seconds(4));  // 20 bytes of weights and gradients take a second
  CHECK(on(NetworkModel::Platform, random, plan).period == Seconds(4));
}

TEST_CASE("1f1b-star: caps on microbatches in flight lengthen the period") {
  RandomCase m1 = m1_case({0, 1, 2}, 1000);
  m1.plan.stages[0].in_flight = 2;
  const Plan plan = with_pattern(m1.graph, m1.platform, m1.plan);
  CHECK(plan.pattern->period == Seconds(16));
  CHECK(counts_of(plan) == std::vector<std::int64_t>{2, 2, 1});
  Plan asked = m1.plan;
  asked.stages[0].in_flight.reset();
  asked = with_pattern(m1.graph, m1.platform, with_period(asked, "14 s"));
  asked.stages[0].in_flight = 2;
  CHECK(refusal_of(asked) == "the pattern keeps 3 microbatches of stage 0 in flight, more than its cap of 2");
}

TEST_CASE("1f1b-star: an asynchronous run has a least length") {
  const RandomCase m1 = m1_case({0, 1, 2}, 1000);
  Plan plan = with_pattern(m1.graph, m1.platform, m1.plan);
  CHECK(least_length(plan) == 22);
  plan.microbatches = 21;
  CHECK_THROWS_AS(on(NetworkModel::Platform, m1, plan), InputError);
  plan.microbatches = 22;
  CHECK(on(NetworkModel::Platform, m1, plan).period == Seconds(12));
}

TEST_CASE("1f1b-star: a period that no schedule can have is refused") {
  const RandomCase m1 = m1_case({0, 1, 2}, 1000);
  const auto message = [&](const std::string& period) {
    try {
      static_cast<void>(with_pattern(m1.graph, m1.platform, with_period(m1.plan, period)));
    } catch (const InputError& error) {
      return error.message();
    }
    return std::string();
  };
  CHECK(message("11.5 s") == "1f1b-star cannot have a period of 11.5 s: stage 2 takes 12 s for each microbatch");
  CHECK(message("12 s").empty());
}

TEST_CASE("1f1b-star: plans that it cannot run") {
  const RandomCase m1 = m1_case({0, 1, 2}, 1000);
  const auto problem = [&](const std::function<void(Plan&)>& change) {
    Plan plan = m1.plan;
    change(plan);
    const std::string found = refusal_of(m1.graph, m1.platform, plan);
    return found;
  };
  CHECK(problem([](Plan& plan) { plan.stages[1].replicas.emplace_back(DeviceId(2)); }) ==
        "1f1b-star runs every stage on one device, but stage 1 has 2");
  CHECK(problem([](Plan& plan) { plan.stages[2].pipeline = 1; }) ==
        "1f1b-star runs a single pipeline, but stage 2 belongs to another one");
  CHECK(problem([](Plan& plan) { plan.stages[0].memory = {Swap{{LayerId(0)}}}; }) ==
        "1f1b-star leaves no time for swaps, but stage 0 swaps");
  CHECK(problem([](Plan& plan) { plan.stages[2].replicas = {DeviceId(0)}; }) ==
        "1f1b-star without a pattern needs a device of its own for every stage");
}

TEST_CASE("1f1b-star: patterns that are not sound") {
  const auto problem = [](const std::function<void(std::vector<PatternOperation>&)>& change) {
    Plan plan = plan_m2();
    change(plan.pattern->operations);
    return refusal_of(plan);
  };
  CHECK(problem([](auto&) {}).empty());
  CHECK(problem([](auto& list) { list.erase(list.begin()); }) == "the pattern lacks the forward of stage 0");
  CHECK(problem([](auto& list) { list.erase(list.begin() + 8); }) == "the pattern lacks the backward of cut 0");
  CHECK(problem([](auto& list) { list.push_back(list[4]); }) ==
        "the pattern has the forward of stage 2 more than once");
  CHECK(problem([](auto& list) { list[2].index = 3; }) ==
        "the pattern has the forward of stage 3, but the plan has only 3 stages, counted from 0");
  CHECK(problem([](auto& list) { list[3].index = 2; }) ==
        "the pattern has the forward of cut 2, but the plan has only 2 cuts, counted from 0");
  CHECK(problem([](auto& list) { list[4].start = Seconds(14); }) ==
        "the pattern has the forward of stage 2 at 14 s, outside the period of 14 s");
  CHECK(problem([](auto& list) { list[4].shift = -1; }) ==
        "the pattern has the forward of stage 2 with a shift of -1, less than 0");
  CHECK(problem([](auto& list) {
          for (PatternOperation& o : list) ++o.shift;
        }) ==
        "in the pattern the forward of stage 0 has a shift of 1, but the first operation of a microbatch has "
        "shift 0");
  CHECK(problem([](auto& list) { list[7].shift = 0; }) ==
        "in the pattern the backward of stage 1 comes before the backward of cut 1, which it depends on");
  CHECK(problem([](auto& list) {
          list[2].start = list[1].start;
          std::swap(list[1], list[2]);
        }) == "in the pattern the forward of stage 1 comes before the forward of cut 0, which it depends on");
  Plan plan = plan_m2();
  plan.stages[1].replicas = {DeviceId(0)};
  CHECK(refusal_of(plan) ==
        "the pattern has the forward of cut 0, but the stages before and after it are on one device");
  plan = plan_m2();
  plan.pattern->period = Seconds(0);
  CHECK(refusal_of(plan) == "the pattern's period is not more than zero");
  plan = with_period(plan_m2(), "15 s");
  CHECK(refusal_of(plan) == "the schedule asks for a period of 15 s, but the pattern has a period of 14 s");
}

TEST_CASE("1f1b-star: release as the parameter says, else as the pattern does") {
  const RandomCase m2{graph_of(vector_m2()), vector_platform(2, 2, 64), plan_m2()};
  Plan plan = m2.plan;
  plan.pattern->timed = false;
  CHECK(with_pattern(m2.graph, m2.platform, plan) == plan);
  plan.schedule.parameters = {{"release", "timed"}};
  CHECK(with_pattern(m2.graph, m2.platform, plan).pattern->timed);
  CHECK_FALSE(with_pattern(m2.graph, m2.platform, asap(m2.plan)).pattern->timed);
}

TEST_CASE("schedule parameters: what they may be") {
  const auto problem = [](const std::string& name, const Detail& value) {
    const ScheduleRefusals found = parameter_refusals(require_family("1f1b-star"), {{name, value}});
    return found.empty() ? std::string() : found.front().message + "; " + found.front().hint;
  };
  CHECK(problem("release", "asap").empty());
  CHECK(problem("period", "14 ms").empty());
  CHECK(problem("period", "least").empty());
  CHECK(problem("release", "soon") ==
        "parameter 'release' of schedule '1f1b-star': expected timed|asap, found 'soon'; ");
  CHECK(problem("period", 14)
            .starts_with("parameter 'period' of schedule '1f1b-star': expected time|least, found '14'; "));
  CHECK(problem("period", "0 s") ==
        "parameter 'period' of schedule '1f1b-star': expected time|least, found '0 s'; a time must be more than zero "
        "and at "
        "most 1e+06 s");
  CHECK(
      problem("perod", "1 s").starts_with("the schedule '1f1b-star' has no parameter 'perod'; did you mean 'period'?"));
  const ScheduleChoice choice{"1f1b-star", {{"release", "asap"}, {"period", "14 ms"}}};
  CHECK(schedule_text(choice) == "1f1b-star,release=asap,period=14 ms");
  CHECK(schedule_parameters(choice).word("release") == "asap");
  CHECK(schedule_parameters(choice).word("channels") == "exclusive");
}

}  // namespace
}  // namespace stagecraft
