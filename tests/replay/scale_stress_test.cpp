// Thousands of devices and millions of operations: results in closed form, and memory that stays bounded.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/child_process.hpp"
#include "sim/replay/replay_plan.hpp"
#include "tests/replay/clusters.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

namespace stagecraft {
namespace {

/// The result of a replay in its own process, and the most memory that this process or the replay's child used.
struct Outcome {
  double time = 0.0;  ///< iteration time or period
  std::uint64_t operations = 0;
  double mebibytes = 0.0;
};

double mebibytes(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

Outcome run_apart(const std::function<Report()>& run) {
  ChildProcess child([&](FrameSender& sender) {
    const Report report = run();
    const Outcome outcome{
        report.period.value_or(report.iterations.empty() ? Seconds(0) : report.iterations.back()).value(),
        report.operations, std::max(mebibytes(RUSAGE_SELF), mebibytes(RUSAGE_CHILDREN))};
    sender.send(0, std::string(reinterpret_cast<const char*>(&outcome), sizeof(outcome)));  // NOLINT: to ourselves
  });
  const std::optional<Frame> frame = child.receive();
  REQUIRE(frame);
  Outcome outcome;
  std::memcpy(&outcome, frame->bytes.data(), sizeof(outcome));
  return outcome;
}

Outcome replay_apart(std::uint32_t nodes, const Plan& plan) {
  return run_apart([&] {
    const Platform platform = test::cluster_of_eights(nodes);
    return replay_plan(test::layers_for(plan.stages.size()), platform, plan).report;
  });
}

/// One pipeline of eight stages, each on a node of its own.
double single_pipeline() {
  Plan plan = test::replicated(8, 1, 16);
  for (std::uint32_t s = 0; s < 8; ++s) plan.stages[s].replicas = {DeviceId(8 * s)};
  return replay_apart(8, plan).time;
}

/// Replicas next to each other: seven of eight steps of the ring stay inside a node, so the NICs of the border devices
/// set the pace: 2 (n - 1) / n of a gigabyte at 50 GB/s, and 2 (n - 1) steps of 4 us, of which the flow itself has one.
/// It begins after the last backward, that of the first stage.
double all_reduce(double replicas) { return 2 * (replicas - 1) * (1e9 / replicas / 50e9 + 4e-6); }

TEST_CASE("scale: replicas add nothing to a pipeline but their all-reduce, on 4096 and on 16384 devices") {
  const double single = single_pipeline();
  for (const auto& [replicas, most_mebibytes] : {std::pair(512U, 100.0), std::pair(2048U, 250.0)}) {
    CAPTURE(replicas);
    const Outcome outcome = replay_apart(replicas, test::replicated(8, replicas, 16));
    CHECK(outcome.time == doctest::Approx(single + all_reduce(replicas)).epsilon(1e-9));
    // 16 x 8 forwards and backwards, 16 x 7 transfers each way, an edge of the ring for each of 8; 8 rings of two
    // marks each, and two marks.
    CHECK(outcome.operations == std::uint64_t{replicas} * (2 * 16 * 8 + 2 * 16 * 7 + 8) + std::uint64_t{2} * 8 + 2);
    CHECK(outcome.mebibytes < most_mebibytes);
  }
}

TEST_CASE("scale: ten million asynchronous operations take no more memory than one million") {
  const auto run = [](std::int64_t microbatches) {
    return replay_apart(1, test::replicated(8, 1, microbatches, "pipedream"));
  };
  const Outcome one = run(33'400);
  const Outcome ten = run(334'000);
  CHECK(ten.operations > 10'000'000);
  // The first stage has eight microbatches in flight, and one comes back after eight forwards and backwards and
  // fourteen transfers.
  const double transfer = 2e-6 + 1e6 / 450e9;
  CHECK(ten.time == doctest::Approx((8 * 0.03 + 14 * transfer) / 8).epsilon(1e-9));
  CHECK(ten.mebibytes < 200.0);
  CHECK(ten.mebibytes < one.mebibytes + 8.0);
}

TEST_CASE("scale: 512 transfers that all meet end when the fluid model says") {
  const Platform platform = test::cluster_of_eights(64, test::half_fat_tree());
  const std::vector<test::FluidTransfer> transfers = test::random_exchange(512, 7);
  const std::vector<double> expected = test::expected_ends(platform, transfers);
  const std::vector<double> ends = test::replayed_ends(platform, transfers);
  for (std::size_t i = 0; i < transfers.size(); ++i) CHECK(ends[i] == doctest::Approx(expected[i]).epsilon(1e-9));
}

// No link can carry its bytes faster than its bandwidth allows, and the one that is busiest need not wait.
TEST_CASE("scale: 4096 transfers that all meet keep the busiest link full") {
  const Platform platform = test::cluster_of_eights(512, test::half_fat_tree());
  const std::vector<test::FluidTransfer> transfers = test::random_exchange(4096, 7);
  std::vector<double> bytes(platform.links.size());
  Route route;
  for (const test::FluidTransfer& transfer : transfers) {
    REQUIRE(find_route(platform, PlaceId(transfer.from), PlaceId(transfer.to), route));
    for (LinkId link : route.links) bytes[link.value()] += static_cast<double>(transfer.bytes);
  }
  double least = 0.0;
  for (LinkId link : indices(platform.links)) {
    least = std::max(least, bytes[link.value()] / platform.links[link].bandwidth.value());
  }
  const double last = std::ranges::max(test::replayed_ends(platform, transfers));
  CHECK(last >= least);
  CHECK(last < 1.5 * least);
}

}  // namespace
}  // namespace stagecraft
