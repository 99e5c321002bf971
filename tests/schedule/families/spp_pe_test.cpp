#include "sim/analytic/evaluate_plan.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/schedule/families/spp_pe/processing_pieces.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "tests/schedule/processing_plans.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace stagecraft::spp_pe_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

Report on(NetworkModel network, const RandomCase& random, const Plan& plan) {
  LowerOptions options;
  options.network = network;
  return evaluate_plan(random.graph, random.platform, plan, options);
}

/// The ledger's peaks for stages that are alone on their devices.
std::vector<std::pair<DeviceId, Bytes>> ledger_of(const RandomCase& random) {
  const Plan& plan = random.plan;
  const std::vector<Boundary> all = boundaries(random.graph, plan);
  const ScheduleProgram program = compiled(plan);
  std::vector<std::pair<DeviceId, Bytes>> peaks;
  for (StageId id : indices<StageId>(plan.stages.size())) {
    const Stage& stage = plan.stages[id.value()];
    const StageProgram work = stage_program(random.graph, stage);
    for (std::size_t r = 0; r < stage.replicas.size(); ++r) {
      const Share share = Replicas(plan)[Replicas(plan).of(id)[r]].share;
      const Bytes crossing = boundary_bytes(plan, all, id, stage.replicas[r].lead());
      const StaticMemory held =
          static_memory(plan.training, {work.parameters, program.weight_versions[id.value()]}, crossing, share);
      const std::int64_t count = program.in_flight[id.value()];
      peaks.emplace_back(stage.replicas[r].lead(), peak_memory(held, scaled(work, 1.0, share), count));
    }
  }
  std::ranges::sort(peaks);
  return peaks;
}

std::vector<std::pair<DeviceId, Bytes>> peaks_of(const Report& report) {
  std::vector<std::pair<DeviceId, Bytes>> peaks;
  for (const DeviceReport& device : report.devices) peaks.emplace_back(device.device, device.memory.peak);
  return peaks;
}

TEST_CASE("spp-pe: on the analytic network the run is the execution, and its memory the ledger") {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const ProcessingCase made = processing_case(seed, true);
    const ProcessingFigures figures = executed(made);
    const Report report = on(NetworkModel::Analytic, made.random, made.random.plan);
    CHECK(report.iterations.front().value() == doctest::Approx(figures.time.value()).epsilon(1e-9));
    for (StageId id : indices<StageId>(made.random.plan.stages.size())) {
      CHECK(compiled(made.random.plan).in_flight[id.value()] == figures.peaks[id.value()]);
    }
    CHECK(peaks_of(report) == ledger_of(made.random));
    CHECK(peaks_of(on(NetworkModel::Platform, made.random, made.random.plan)) == ledger_of(made.random));
  }
}

TEST_CASE("spp-pe: an idle resource takes what is ready of the earliest round, on the analytic network too") {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const ProcessingCase made = processing_case(seed, false);
    const ProcessingFigures figures = executed(made);
    const Report report = on(NetworkModel::Analytic, made.random, made.random.plan);
    CHECK(report.iterations.front().value() == doctest::Approx(figures.time.value()).epsilon(1e-9));
    for (StageId id : indices<StageId>(made.random.plan.stages.size())) {
      CHECK(compiled(made.random.plan).in_flight[id.value()] >= figures.peaks[id.value()]);
    }
  }
}

TEST_CASE("spp-pe: replicas that take whole microbatches in turn are resources of their own") {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    ProcessingCase made = processing_case(seed, seed % 4 != 0);
    std::mt19937 generator(seed);
    for (Stage& stage : made.random.plan.stages) {
      if (generator() % 2 == 0) stage.replication = Replication::RoundRobin;
    }
    const ProcessingFigures figures = executed(made);
    const Report report = on(NetworkModel::Analytic, made.random, made.random.plan);
    CHECK(report.iterations.front().value() == doctest::Approx(figures.time.value()).epsilon(1e-9));
    const auto ledger = ledger_of(made.random);
    for (const NetworkModel network : {NetworkModel::Analytic, NetworkModel::Platform}) {
      const auto peaks = peaks_of(on(network, made.random, made.random.plan));
      for (std::size_t i = 0; i < peaks.size(); ++i) CHECK(peaks[i].second <= ledger[i].second);
    }
    if (!made.settings.strict) continue;
    for (StageId id : indices<StageId>(made.random.plan.stages.size())) {
      CHECK(compiled(made.random.plan).in_flight[id.value()] == figures.peaks[id.value()]);
    }
  }
}

/// The stages of a random plan, dealt out to fewer devices.
RandomCase shared_case(std::uint32_t seed) {
  ProcessingCase made = processing_case(seed, seed % 3 != 0);
  std::mt19937 generator(seed);
  const auto devices = static_cast<std::uint32_t>(1 + generator() % made.random.platform.devices.size());
  for (Stage& stage : made.random.plan.stages) {
    stage.replication = Replication::RoundRobin;
    std::set<DeviceId> chosen;
    for (std::size_t r = 0; r < stage.replicas.size(); ++r) chosen.insert(DeviceId(generator() % devices));
    stage.replicas.assign(chosen.begin(), chosen.end());
  }
  made.random.plan.schedule = processing_schedule(made.settings, seed % 2 == 0 ? "exclusive" : "free");
  return made.random;
}

TEST_CASE("spp-pe: stages that share devices, whole or in part, run to the end") {
  int shared = 0;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const RandomCase random = shared_case(seed);
    if (share_devices(Replicas(random.plan))) ++shared;
    REQUIRE(refusal_of(random.plan).empty());
    const PipelineTimes times =
        pipeline_times(random.graph, random.platform, {random.graph, random.platform, random.plan});
    const Replicas replicas(random.plan);
    for (const NetworkModel network : {NetworkModel::Analytic, NetworkModel::Platform}) {
      const Report report = on(network, random, random.plan);
      for (std::size_t stage = 0; stage < random.plan.stages.size(); ++stage) {
        const auto count =
            static_cast<double>(replicas.count(replicas.of(StageId(stage)).front(), random.plan.microbatches));
        CHECK(report.iterations.front() >= times.resources[2 * stage].total() * (count * (1 - 1e-9)));
      }
    }
  }
  CHECK(shared > 150);
}

TEST_CASE("spp-pe: stages on one device are one resource, and nothing is transferred between them") {
  Plan plan = straight(2, 3, "spp-pe");
  plan.stages[1].replicas = {DeviceId(0)};
  const Schedule schedule = compiled(plan).orders({0, 3});
  CHECK(schedule.channels.at(0).actions.empty());
  std::string order;
  for (const Action& action : schedule.devices.at(0).actions) {
    order += std::string(action.kind == ActionKind::Forward ? "F" : "B") + std::to_string(action.stage.value()) + "." +
             std::to_string(action.microbatch) + " ";
  }
  CHECK(order == "F0.0 F1.0 B1.0 B0.0 F0.1 F1.1 B1.1 B0.1 F0.2 F1.2 B1.2 B0.2 ");
}

TEST_CASE("spp-pe: what it cannot run") {
  Plan plan = straight(3, 4, "spp-pe");
  CHECK(refusal_of(plan).empty());
  plan.stages[1].replicas = {DeviceId(1), DeviceId(0)};
  plan.stages[1].replication = Replication::Split;
  CHECK(refusal_of(plan) ==
        "spp-pe orders whole transfers, but stages 0 and 1 share a device and one of them divides its microbatches");
  plan.stages[1].replicas = {DeviceId(1), DeviceId(3)};
  CHECK(refusal_of(plan).empty());
  plan.stages[2].pipeline = 1;
  plan.stages[2].replicas = {DeviceId(3)};
  CHECK(refusal_of(plan) ==
        "spp-pe orders each pipeline by itself, but stages 1 and 2 of two pipelines share a device");
}

TEST_CASE("spp-pe: between two replicas one transfer at a time, and pairs side by side") {
  // Two stages of two replicas each: two pairs, each with half of the 8 bytes at 1 B/s.
  RandomCase made{chain(2, 1, 1, 8), pairwise(4, 1), straight(2, 2, "spp-pe")};
  for (std::size_t s = 0; s < 2; ++s) {
    made.plan.stages[s].replicas = {DeviceId(2 * s), DeviceId(2 * s + 1)};
    made.plan.stages[s].replication = Replication::Split;
  }
  made.plan.microbatch_size = 2;
  Timeline timeline;
  static_cast<void>(evaluate_plan(made.graph, made.platform, made.plan, {}, {}, collect_into(timeline)));
  std::vector<std::pair<Seconds, Seconds>> of_first_pair;
  std::size_t transfers = 0;
  for (const TimelineEntry& entry : timeline) {
    if (entry.kind != OpKind::Activation && entry.kind != OpKind::Gradient) continue;
    ++transfers;
    if (std::min(entry.from, entry.to) == made.platform.place(DeviceId(0))) {
      of_first_pair.emplace_back(entry.start, entry.end);
    }
  }
  CHECK(transfers == 8);
  const std::vector<std::pair<Seconds, Seconds>> expected = {{Seconds(0.5), Seconds(4.5)},
                                                             {Seconds(4.5), Seconds(8.5)},
                                                             {Seconds(8.5), Seconds(12.5)},
                                                             {Seconds(12.5), Seconds(16.5)}};
  CHECK(of_first_pair == expected);
}

/// The whole order is the pieces of any length, one after the other.
void check_pieces(const ProcessingChain& chain, std::int64_t microbatches, std::int64_t length) {
  const ProcessingOrder whole = order_blocks(chain, microbatches);
  std::vector<std::vector<ProcessingBlock>> joined(chain.resources);
  for (std::int64_t begin = 0; begin < microbatches; begin += length) {
    const auto piece = order_piece(chain, microbatches, {begin, std::min(begin + length, microbatches)});
    for (std::size_t r = 0; r < chain.resources; ++r) {
      joined[r].insert(joined[r].end(), piece[r].begin(), piece[r].end());
    }
  }
  CHECK(joined == whole.lists);
  CHECK(order_peaks(chain, microbatches) == whole.peaks);
}

TEST_CASE("spp-pe: the order in pieces") {
  std::mt19937 generator(7);
  int cycles = 0;
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    const auto number = [&](std::uint32_t least, std::uint32_t most) {
      return static_cast<std::int64_t>(least + generator() % (most - least + 1));
    };
    std::vector<std::int64_t> alternating;
    std::vector<std::int64_t> own;
    for (std::int64_t s = number(1, 6); s > 0; --s) {
      alternating.push_back(number(0, 2) == 0 ? number(1, 4) : 1);
      own.push_back(number(0, 3) == 0 ? number(1, 5) : std::int64_t{1} << 40);
    }
    const ProcessingSettings settings{static_cast<InFlightCap>(number(0, 2)), true, number(0, 1) == 1};
    const ProcessingChain chain = processing_chain(alternating, settings, own);
    const std::int64_t microbatches = number(1, 700);
    if (find_cycle(chain, microbatches)) ++cycles;
    check_pieces(chain, microbatches, number(1, 300));
  }
  CHECK(cycles > 200);
}

TEST_CASE("spp-pe: a run of several pieces, iteration after iteration") {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    ProcessingCase made = processing_case(seed, true);
    made.random.plan.microbatches = 700;
    LowerOptions options;
    options.network = NetworkModel::Analytic;
    options.iterations = 2;
    const Report report = evaluate_plan(made.random.graph, made.random.platform, made.random.plan, options);
    REQUIRE(report.iterations.size() == 2);
    const Seconds expected = executed(made).time;
    for (Seconds time : report.iterations) CHECK(time.value() == doctest::Approx(expected.value()).epsilon(1e-9));
  }
}

TEST_CASE("spp-pe: a piece of a long order is made by itself") {
  constexpr std::uint32_t kBegin = 3'000'000;
  const Plan plan = straight(4, 5'000'000, "spp-pe");
  CHECK(compiled(plan).in_flight[0] == 13);
  const Schedule schedule = compiled(plan).orders({kBegin, kBegin + 64});
  for (std::size_t s = 0; s < 4; ++s) {
    const std::vector<Action>& actions = schedule.devices[s].actions;
    REQUIRE(actions.size() == 128);
    const std::size_t warm = 4 * (3 - s) + 1;
    for (std::size_t i = 0; i < 64; ++i) {
      CHECK(actions[2 * i].kind == ActionKind::Forward);
      CHECK(actions[2 * i].microbatch == kBegin - 1 + i + warm);
      CHECK(actions[2 * i + 1].kind == ActionKind::Backward);
      CHECK(actions[2 * i + 1].microbatch == kBegin + i);
    }
  }
  for (const ChannelOrder& channel : schedule.channels) CHECK(channel.actions.size() == 128);
}

}  // namespace
}  // namespace stagecraft::spp_pe_test
