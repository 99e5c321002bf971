// Orders with sends and receives, under each rule for them: times and deadlocks by hand, and against a simulator of a
// page that knows nothing of lowering.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/io/schedule_file.hpp"
#include "sim/schedule/check_schedule.hpp"
#include "sim/schedule/list_transfers.hpp"
#include "sim/schedule/lower.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/chains.hpp"
#include "tests/schedule/compiled.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

constexpr std::array kListingRules = {Transfers::Explicit, Transfers::Stream, Transfers::Blocking};
constexpr double kForward = 1.0;
constexpr double kBackward = 2.0;

/// One layer a stage, stage s on device s mod `devices`.
Plan looped(std::size_t stages, std::size_t devices, std::int64_t microbatches) {
  Plan plan = straight(stages, microbatches, "literal");
  for (std::size_t s = 0; s < stages; ++s) plan.stages[s].replicas = {DeviceId(s % devices)};
  return plan;
}

Schedule orders_of(const std::string& devices, Transfers rule, const Platform& platform) {
  Schedule schedule =
      parse_schedule("schema: stagecraft/schedule/1\ntransfers: explicit\ndevices:\n" + devices, "o", platform);
  schedule.transfers = rule;
  return schedule;
}

/// The end of the iteration, or the text of the deadlock.
struct Outcome {
  std::optional<double> end;
  std::string deadlock;
};

Outcome run(const Plan& plan, const Schedule& schedule, const Platform& platform, std::int64_t bytes) {
  const LayerGraph graph = chain(plan.stages.size(), kForward, kBackward, bytes);
  REQUIRE(check_schedule(graph, platform, plan, schedule) == std::vector<std::string>{});
  LowerOptions options;
  options.literal = schedule;
  try {
    return {evaluate_plan(graph, platform, plan, options).iterations.back().value(), ""};
  } catch (const Deadlock& error) {
    return {std::nullopt, error.message()};
  }
}

// Two devices, four stages; each send stands before the receive that would free it (a public report on interleaved
// schedules whose devices wait for their own sends).
constexpr const char* kCrossed =
    "  gpu0: [F0.0, SA0.0, F0.1, SA0.1, RA2.0, F2.0, SA2.0, RA2.1, F2.1, SA2.1, RG2.0, B2.0, SG2.0, RG2.1, B2.1, "
    "SG2.1, RG0.0, B0.0, RG0.1, B0.1]\n"
    "  gpu1: [RA1.0, F1.0, SA1.0, RA1.1, F1.1, SA1.1, RA3.0, F3.0, B3.0, SG3.0, RA3.1, F3.1, B3.1, SG3.1, RG1.0, "
    "B1.0, SG1.0, RG1.1, B1.1, SG1.1]\n";

TEST_CASE("transfer streams: crossed sends run where they only post, and deadlock where devices or streams wait") {
  const Platform platform = pairwise(2, 10);
  const Plan plan = looped(4, 2, 2);
  CHECK(run(plan, orders_of(kCrossed, Transfers::Explicit, platform), platform, 1).end);
  for (const Transfers rule : {Transfers::Stream, Transfers::Blocking}) {
    CAPTURE(to_string(rule));
    CHECK(
        run(plan, orders_of(kCrossed, rule, platform), platform, 1).deadlock ==
        "the schedule deadlocks: gpu0 at the send-activation of microbatch 1 of stage 0 waits for the "
        "receive-activation of microbatch 1 of stage 1 on gpu1; gpu1 at the send-activation of microbatch 0 of stage 1 "
        "waits for the receive-activation of microbatch 0 of stage 2 on gpu0");
  }
}

// 1F1B as Megatron-LM runs it needs its sends and receives in batches.
TEST_CASE("transfer streams: what a batch joins goes side by side") {
  const Platform platform = pairwise(2, 10);
  std::string orders =
      "  gpu0: [F0.0, SA0.0, F0.1, SA0.1, RG0.0, B0.0, RG0.1, B0.1]\n"
      "  gpu1: [RA1.0, F1.0, B1.0, SG1.0, RA1.1, F1.1, B1.1, SG1.1]\n";
  const Plan plan = looped(2, 2, 2);
  for (const Transfers rule : {Transfers::Stream, Transfers::Blocking}) {
    CHECK_FALSE(run(plan, orders_of(orders, rule, platform), platform, 1).end);
  }
  orders.replace(orders.find("SA0.1, RG0.0"), 12, "SA0.1+RG0.0");
  for (const Transfers rule : {Transfers::Stream, Transfers::Blocking}) {
    CHECK(run(plan, orders_of(orders, rule, platform), platform, 1).end);
  }
}

// Two microbatches, bytes take 1 s, latency is 0.5 s; f = 1, b = 2.
TEST_CASE("transfer streams: times by hand") {
  const Platform platform = pairwise(2, 1, 0.5);
  const Plan plan = looped(2, 2, 2);
  const std::string orders =
      "  gpu0: [F0.0, SA0.0, F0.1, SA0.1, RG0.0, RG0.1, B0.0, B0.1]\n"
      "  gpu1: [RA1.0, RA1.1, F1.0, B1.0, SG1.0, F1.1, B1.1, SG1.1]\n";
  const auto end = [&](Transfers rule) { return *run(plan, orders_of(orders, rule, platform), platform, 1).end; };
  // F1.0 2.5-3.5, B1.0 -5.5, gradient -7, B0.0 -9; F1.1 5.5-6.5, B1.1 -8.5, gradient -10, B0.1 -12.
  CHECK(end(Transfers::Explicit) == doctest::Approx(12));
  // The second activation follows the first, 2.5-4: nothing else waits for it.
  CHECK(end(Transfers::Stream) == doctest::Approx(12));
  // gpu0 sends 1-2.5, F0.1 -3.5, sends -5; gpu1 comes to F1.0 at 5, B1.0 -8, sends -9.5, F1.1, B1.1 -12.5, sends -14;
  // gpu0 has received both gradients then: B0.0, B0.1 14-18.
  CHECK(end(Transfers::Blocking) == doctest::Approx(18));
}

/// A random order of all computations in which none comes before its inputs, by device.
std::vector<std::vector<Action>> random_computations(const Plan& plan, std::size_t devices, std::mt19937& random) {
  std::vector<std::vector<Action>> orders(devices);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> next;  // microbatch, computations made
  for (std::uint32_t k = 0; k < plan.microbatches; ++k) next.emplace_back(k, 0U);
  const auto stages = static_cast<std::uint32_t>(plan.stages.size());
  while (!next.empty()) {
    const std::size_t chosen = random() % next.size();
    auto& [microbatch, made] = next[chosen];
    Action action;
    action.kind = made < stages ? ActionKind::Forward : ActionKind::Backward;
    action.stage = StageId(made < stages ? made : 2 * stages - 1 - made);
    action.microbatch = microbatch;
    orders[action.stage.value() % devices].push_back(action);
    if (++made == 2 * stages) next.erase(next.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return orders;
}

/// Computations at random with sends and receives as they are added, some of which change places with a neighbour: a
/// send not with its computation or one before, a receive not with its computation or one behind.
Schedule random_orders(const Plan& plan, std::size_t devices, std::mt19937& random) {
  Schedule schedule;
  const std::vector<std::vector<Action>> computations = random_computations(plan, devices, random);
  for (std::size_t d = 0; d < devices; ++d) {
    schedule.devices.push_back({DeviceId(d), Discipline::Strict, computations[d]});
  }
  const LayerGraph graph = chain(plan.stages.size(), kForward, kBackward, 1);
  schedule = with_transfers(graph, plan, schedule, Transfers::Stream);
  const auto works = [](const Action& action) { return !is_mark(action.kind); };
  for (DeviceOrder& order : schedule.devices) {
    for (std::size_t i = 1; i < order.actions.size(); ++i) {
      Action& before = order.actions[i - 1];
      Action& action = order.actions[i];
      const bool both_work = works(before) && works(action);
      const bool is_early_send = works(before) && is_mark(action.kind) && is_send(action.kind);
      const bool is_late_receive = works(action) && is_mark(before.kind) && !is_send(before.kind);
      if (both_work || is_early_send || is_late_receive || random() % 12 != 0) continue;
      std::swap(before, action);
    }
  }
  return schedule;
}

/// Joins some neighbouring sends and receives: one tensor in each direction at most.
void join_some(Schedule& schedule, std::mt19937& random) {
  for (DeviceOrder& order : schedule.devices) {
    for (std::size_t i = 1; i < order.actions.size(); ++i) {
      const Action& before = order.actions[i - 1];
      Action& action = order.actions[i];
      if (!is_mark(before.kind) || !is_mark(action.kind) || before.joined || random() % 2 == 0) continue;
      action.joined = is_send(before.kind) != is_send(action.kind);
    }
  }
}

/// Carries out orders of a chain on devices that are all joined, each direction by a link of its own.
class Oracle {
 public:
  Oracle(const Plan& plan, const Schedule& schedule, double seconds)
      : schedule_(schedule), stages_(plan.stages.size()), seconds_(seconds), devices_(schedule.devices.size()) {}

  [[nodiscard]] std::optional<double> end() {
    while (advance()) {
    }
    double end = 0.0;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      if (devices_[d].next < actions(d).size()) return std::nullopt;
      end = std::max(end, devices_[d].time);
    }
    return end;
  }

 private:
  using Tensor = std::array<std::uint32_t, 3>;  // the stage before, the microbatch, whether it is a gradient
  struct Device {
    std::size_t next = 0;
    double time = 0.0;
    double stream = 0.0;                          ///< the end of the batch before
    std::vector<std::map<Tensor, bool>> batches;  ///< that are left, with whether they are received
    double batch_end = 0.0;
  };

  [[nodiscard]] const std::vector<Action>& actions(std::size_t device) const {
    return schedule_.devices[device].actions;
  }
  [[nodiscard]] std::size_t device_of(std::uint32_t stage) const { return stage % devices_.size(); }

  static Tensor tensor_of(const Action& action) {
    const bool gradient = is_of_gradient(action.kind);
    const bool is_before = is_send(action.kind) != gradient;
    return {is_before ? action.stage.value() : action.stage.value() - 1, action.microbatch, gradient ? 1U : 0U};
  }

  bool advance() {
    bool any = false;
    for (std::size_t d = 0; d < devices_.size(); ++d) any = step(d) || any;
    for (std::size_t d = 0; d < devices_.size(); ++d) any = transfer(d) || any;
    return any;
  }

  bool step(std::size_t d) {
    Device& device = devices_[d];
    if (device.next == actions(d).size()) return false;
    const bool waits = schedule_.transfers == Transfers::Blocking && !device.batches.empty();
    if (waits) return false;
    const Action& action = actions(d)[device.next];
    if (is_mark(action.kind)) {
      device.batches.emplace_back();
      do {
        const Action& each = actions(d)[device.next++];
        posted_[tensor_of(each)].push_back(device.time);
        device.batches.back()[tensor_of(each)] = !is_send(each.kind);
      } while (device.next < actions(d).size() && actions(d)[device.next].joined);
      return true;
    }
    const bool forth = action.kind == ActionKind::Forward;
    const std::uint32_t s = action.stage.value();
    const bool has_input = forth ? s > 0 : s + 1 < stages_;
    if (has_input) {
      const auto arrived = arrived_.find({forth ? s - 1 : s, action.microbatch, forth ? 0U : 1U});
      if (arrived == arrived_.end()) return false;
      device.time = std::max(device.time, arrived->second);
    }
    device.time += forth ? kForward : kBackward;
    ++device.next;
    return true;
  }

  /// The position in the device's stream of the batch with the tensor.
  [[nodiscard]] std::size_t batch_of(std::size_t d, const Tensor& tensor) const {
    const auto& batches = devices_[d].batches;
    const auto has = [&](const auto& batch) { return batch.contains(tensor); };
    return static_cast<std::size_t>(std::ranges::find_if(batches, has) - batches.begin());
  }

  bool transfer(std::size_t d) {
    for (std::size_t b = 0; b < devices_[d].batches.size(); ++b) {
      for (const auto& [tensor, received] : devices_[d].batches[b]) {
        const std::size_t other = device_of(tensor[0]) == d ? device_of(tensor[0] + 1) : device_of(tensor[0]);
        if (posted_[tensor].size() < 2) continue;
        const std::size_t there = batch_of(other, tensor);
        const bool in_order = schedule_.transfers != Transfers::Explicit;
        if (in_order && (b > 0 || there > 0)) continue;
        const std::vector<double>& posts = posted_[tensor];
        double start = std::max(posts[0], posts[1]);
        if (in_order) start = std::max({start, devices_[d].stream, devices_[other].stream});
        arrived_[tensor] = start + seconds_;
        finish(d, b, tensor);
        finish(other, there, tensor);
        return true;
      }
    }
    return false;
  }

  void finish(std::size_t d, std::size_t b, Tensor tensor) {
    Device& device = devices_[d];
    device.batches[b].erase(tensor);
    device.batch_end = std::max(device.batch_end, arrived_[tensor]);
    if (!device.batches[b].empty()) return;
    device.batches.erase(device.batches.begin() + static_cast<std::ptrdiff_t>(b));
    device.stream = device.batch_end;
    if (schedule_.transfers == Transfers::Blocking) device.time = std::max(device.time, device.batch_end);
  }

  const Schedule& schedule_;
  std::size_t stages_;
  double seconds_;
  std::vector<Device> devices_;
  std::map<Tensor, std::vector<double>> posted_;
  std::map<Tensor, double> arrived_;
};

TEST_CASE("transfer streams: random orders end when another simulator ends them, or deadlock with it") {
  std::map<bool, int> ended;
  for (std::uint32_t seed = 1; seed <= testing::random_cases(400U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::size_t devices = 2 + random() % 3;
    const std::size_t stages = devices * (1 + random() % 2);
    const Plan plan = looped(stages, devices, 1 + random() % 4);
    // One byte takes a second; every tensor has a link of its own where transfers only wait for their marks.
    const Platform platform = pairwise(devices, 1);
    Schedule schedule = random_orders(plan, devices, random);
    join_some(schedule, random);
    for (const Transfers rule : {Transfers::Stream, Transfers::Blocking}) {
      CAPTURE(to_string(rule));
      schedule.transfers = rule;
      const Outcome found = run(plan, schedule, platform, 1);
      const std::optional<double> expected = Oracle(plan, schedule, 1.0).end();
      REQUIRE(found.end.has_value() == expected.has_value());
      if (expected) CHECK(*found.end == doctest::Approx(*expected).epsilon(1e-12));
      if (!expected) CHECK(found.deadlock.find(" waits for ") != std::string::npos);
      ++ended[expected.has_value()];
    }
  }
  CHECK(ended[true] > 10);
  CHECK(ended[false] > 10);
}

TEST_CASE("transfer streams: added sends and receives run under every rule, for every fixed schedule") {
  const std::vector<std::string> names = {"gpipe", "1f1b", "eager-1f1b", "zb-h1", "zb-h2"};
  for (const std::string& name : names) {
    for (std::int64_t microbatches = 1; microbatches <= 9; ++microbatches) {
      CAPTURE(name);
      CAPTURE(microbatches);
      const Plan plan = straight(4, microbatches, name);
      const LayerGraph graph = chain(4, kForward, kBackward, 1);
      const Platform platform = pairwise(4, 1);
      if (!testing::refusal_of(plan).empty()) continue;
      const ScheduleProgram program = require_schedule(graph, platform, plan);
      const Schedule computed = program.orders({0, microbatches});
      const double eager = *run(plan, computed, platform, 1).end;
      double before = eager;
      for (const Transfers rule : kListingRules) {
        CAPTURE(to_string(rule));
        const Schedule listed = with_transfers(graph, plan, computed, rule);
        const double end = *run(plan, listed, platform, 1).end;
        CHECK(end >= before - 1e-9);
        before = end;
        CHECK(with_transfers(graph, plan, listed, Transfers::Eager) == computed);
      }
    }
  }
}

}  // namespace
}  // namespace stagecraft
