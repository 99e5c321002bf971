// Orders of 1f1b where devices hold several stages: against a simulation second by second, against every order of small
// plans, and against the rounds of one unit.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/device_peaks.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/list/fastest_list.hpp"
#include "sim/schedule/list/order_time.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/orders_text.hpp"
#include "tests/schedule/shared_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace stagecraft::list_orders_test {

using namespace stagecraft::testing;

namespace {

/// A plan with what its orders are made from. It must not move.
struct Planned {
  explicit Planned(const RandomCase& made)
      : kept(std::make_shared<KeptPlan>(made.graph, made.platform, made.plan)),
        work(std::make_shared<PipelineWork>(
            pipeline_work({made.graph, made.platform, kept->plan, kept->replicas, kept}, true))),
        program(require_schedule(made.graph, made.platform, made.plan)) {}

  std::shared_ptr<KeptPlan> kept;
  std::shared_ptr<const PipelineWork> work;
  ScheduleProgram program;
};

/// The time of an iteration with these orders, by lowering and evaluating them.
double evaluated(const RandomCase& made, const ScheduleProgram& program, const Schedule& orders) {
  ScheduleProgram other = program;
  other.orders = [&](Segment segment) { return segment.begin > 0 ? Schedule{} : orders; };
  return evaluate_program(made.graph, made.platform, other).iterations.back().value();
}

/// A plan of one chain with one device for each stage and whole times, run second by second.
class Ticks {
 public:
  Ticks(const Planned& planned, const ListRule& rule) : rule_(rule), plan_(planned.kept->plan) {
    for (StageId id : indices<StageId>(plan_.stages.size())) {
      const BlockTimes& times = planned.work->computations[planned.kept->replicas.of(id).front()];
      stages_.push_back(
          {plan_.stages[id.value()].replicas.front().lead(),
           {static_cast<std::int64_t>(times.forward.value()), static_cast<std::int64_t>(times.backward.value())},
           {},
           {}});
    }
  }

  std::map<DeviceId, DeviceOrder> run() {
    std::map<DeviceId, DeviceOrder> orders;
    std::map<DeviceId, std::int64_t> free;
    for (const OneStage& stage : stages_) orders[stage.device].device = stage.device;
    for (std::int64_t now = 0; !is_done(); ++now) {
      for (auto& [device, order] : orders) {
        if (free[device] > now) continue;
        const auto next = best_of(device, now);
        if (!next) continue;
        OneStage& stage = stages_[next->first];
        std::vector<std::int64_t>& ends = next->second ? stage.backwards : stage.forwards;
        Action action;
        action.kind = next->second ? ActionKind::Backward : ActionKind::Forward;
        action.stage = StageId(next->first);
        action.microbatch = static_cast<std::uint32_t>(ends.size());
        order.actions.push_back(action);
        free[device] = now + stage.times[next->second ? 1 : 0];
        ends.push_back(free[device]);
      }
    }
    return orders;
  }

 private:
  struct OneStage {
    DeviceId device;
    std::array<std::int64_t, 2> times{};
    std::vector<std::int64_t> forwards;  ///< their ends
    std::vector<std::int64_t> backwards;
  };

  [[nodiscard]] bool is_done() const {
    return std::ranges::all_of(
        stages_, [&](const OneStage& stage) { return std::ssize(stage.backwards) == plan_.microbatches; });
  }
  static bool has_ended(const std::vector<std::int64_t>& ends, std::size_t microbatch, std::int64_t now) {
    return microbatch < ends.size() && ends[microbatch] <= now;
  }
  [[nodiscard]] bool is_ready(std::size_t s, bool backward, std::int64_t now) const {
    const OneStage& stage = stages_[s];
    if (backward) {
      const std::size_t next = stage.backwards.size();
      return has_ended(stage.forwards, next, now) &&
             (s + 1 == stages_.size() || has_ended(stages_[s + 1].backwards, next, now));
    }
    const std::size_t next = stage.forwards.size();
    return std::ssize(stage.forwards) < plan_.microbatches &&
           std::ssize(stage.forwards) - std::ssize(stage.backwards) < rule_.caps[s] &&
           (s == 0 || has_ended(stages_[s - 1].forwards, next, now));
  }

  /// The stage, and whether its backward: by kind, then by microbatch or by stage.
  [[nodiscard]] std::optional<std::pair<std::size_t, bool>> best_of(DeviceId device, std::int64_t now) const {
    std::vector<std::pair<std::size_t, bool>> ready;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      for (const bool backward : {false, true}) {
        if (stages_[s].device == device && is_ready(s, backward, now)) ready.emplace_back(s, backward);
      }
    }
    if (ready.empty()) return std::nullopt;
    return std::ranges::min(ready, [&](const auto& a, const auto& b) {
      if (a.second != b.second) return a.second != (rule_.turn == Turn::Forward);
      const auto next = [&](const auto& of) {
        return (of.second ? stages_[of.first].backwards : stages_[of.first].forwards).size();
      };
      if (rule_.deepest_first || next(a) == next(b)) {
        return rule_.deepest_first || a.second ? a.first > b.first : a.first < b.first;
      }
      return next(a) < next(b);
    });
  }

  const ListRule& rule_;
  const Plan& plan_;
  std::vector<OneStage> stages_;
};

/// The shortest iteration of any orders of a small plan of one chain without transfers and updates, each replica's
/// microbatches in their order and no more in flight than the caps.
class Shortest {
 public:
  explicit Shortest(const Planned& planned) : planned_(planned) {
    const Replicas& replicas = planned.kept->replicas;
    for (ReplicaId id : replicas.all()) states_.push_back({replicas[id].device, {}, {}});
  }

  double find() {
    go_on(0);
    return least_;
  }

 private:
  struct State {
    DeviceId device;
    std::vector<double> forwards;  ///< their ends
    std::vector<double> backwards;
  };

  /// Takes every operation whose inputs are known as the next one of its device.
  void go_on(double latest) {
    if (latest >= least_) return;
    bool is_done = true;
    for (std::size_t s = 0; s < states_.size(); ++s) {
      for (const bool backward : {false, true}) {
        State& state = states_[s];
        std::vector<double>& ends = backward ? state.backwards : state.forwards;
        if (std::ssize(ends) == planned_.kept->plan.microbatches) continue;
        is_done = false;
        const std::optional<double> ready = ready_at(s, backward);
        if (!ready) continue;
        const BlockTimes& times = planned_.work->computations[ReplicaId(s)];
        const double before = free_[state.device];
        const double end = std::max(before, *ready) + (backward ? times.backward : times.forward).value();
        ends.push_back(end);
        free_[state.device] = end;
        go_on(std::max(latest, end));
        free_[state.device] = before;
        ends.pop_back();
      }
    }
    if (is_done) least_ = latest;
  }

  [[nodiscard]] std::optional<double> ready_at(std::size_t s, bool backward) const {
    const State& state = states_[s];
    const std::size_t next = (backward ? state.backwards : state.forwards).size();
    if (backward) {
      if (state.forwards.size() <= next) return std::nullopt;
      if (s + 1 == states_.size()) return 0.0;
      if (states_[s + 1].backwards.size() <= next) return std::nullopt;
      return states_[s + 1].backwards[next];
    }
    if (std::ssize(state.forwards) - std::ssize(state.backwards) >= planned_.program.in_flight[s]) return std::nullopt;
    if (s == 0) return 0.0;
    if (states_[s - 1].forwards.size() <= next) return std::nullopt;
    return states_[s - 1].forwards[next];
  }

  const Planned& planned_;
  std::vector<State> states_;
  std::map<DeviceId, double> free_;
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace

TEST_CASE("list orders: a device starts what is ready, in an order from the times") {
  // Stages 0 and 2 are on device 0, stage 1 is on device 1; forwards take 1, 3 and 1 s, backwards twice that, and the
  // caps are 3, 2 and 1. Device 0 runs F0.0 to F0.2 at once; F1.0 ends at 4 s, F2.0 at 5 s and B2.0 at 7 s, F1.1 at 7
  // s. Backwards first: device 1 runs B1.0 (13 s), B1.1 (19 s) and F1.2 (22 s); device 0 runs F2.1 (8 s), B2.1 (10 s),
  // B0.0 (15 s), B0.1 (21 s), F2.2 (23 s) and B2.2 (25 s); then come B1.2 (31 s) and B0.2 (33 s).
  RandomCase made{chain(3, 1, 2), pairwise(2), straight(3, 3, "1f1b")};
  made.graph.layers[LayerId(1)].forward = Seconds(3);
  made.graph.layers[LayerId(1)].backward = Seconds(6);
  made.plan.stages[2].replicas = {DeviceId(0)};
  const Planned planned(made);
  const Schedule orders = order_by_list(planned.kept, planned.work, {.caps = {3, 2, 1}}, 3);
  CHECK(order_text(orders.devices[0]) == "F0.0 F0.1 F0.2 F2.0 B2.0 F2.1 B2.1 B0.0 B0.1 F2.2 B2.2 B0.2");
  CHECK(order_text(orders.devices[1]) == "F1.0 F1.1 B1.0 B1.1 F1.2 B1.2");
}

TEST_CASE("list orders: as a simulation second by second, all four rules, 300 random chains") {
  for (std::uint32_t seed = 1; seed <= random_cases(300U); ++seed) {
    CAPTURE(seed);
    const RandomCase made = shared_plan(seed, seed % 2 == 0 ? "1f1b" : "eager-1f1b", {false, true, 10});
    const Planned planned(made);
    for (const Turn turn : {Turn::Backward, Turn::Forward}) {
      for (const bool deepest_first : {false, true}) {
        const ListRule rule{turn, deepest_first, planned.program.in_flight};
        const Schedule found = order_by_list(planned.kept, planned.work, rule, made.plan.microbatches);
        const auto expected = Ticks(planned, rule).run();
        REQUIRE(found.devices.size() == expected.size());
        for (const DeviceOrder& order : found.devices)
          CHECK(order_text(order) == order_text(expected.at(order.device)));
      }
    }
  }
}

TEST_CASE("list orders: 1f1b is never slower than by rounds, keeps its caps, and its ledger is the run's, 400 plans") {
  std::int64_t faster = 0;
  for (std::uint32_t seed = 1; seed <= random_cases(400U); ++seed) {
    CAPTURE(seed);
    const RandomCase made = shared_plan(seed, seed % 2 == 0 ? "1f1b" : "eager-1f1b");
    const Planned planned(made);
    const Report report = evaluate_program(made.graph, made.platform, planned.program);
    const double time = report.iterations.back().value();
    const Schedule rounds = order_by_rounds(planned.kept, planned.program.in_flight, true);
    const double by_rounds = evaluated(made, planned.program, rounds);
    CHECK(time <= by_rounds * (1 + 1e-9));
    faster += time < by_rounds * 0.99 ? 1 : 0;

    const std::int64_t all = made.plan.microbatches;
    const Schedule orders = planned.program.orders({0, all});
    CHECK(order_time(*planned.kept, *planned.work, rounds, all).value() == doctest::Approx(by_rounds).epsilon(1e-9));
    CHECK(order_time(*planned.kept, *planned.work, orders, all).value() == doctest::Approx(time).epsilon(1e-9));

    for (const DeviceOrder& order : orders.devices) {
      std::map<StageId, std::int64_t> in_flight;
      for (const Action& action : order.actions) {
        in_flight[action.stage] += action.kind == ActionKind::Forward ? 1 : -1;
        CHECK(in_flight[action.stage] <= planned.program.in_flight[action.stage.value()]);
      }
    }
    const auto peaks = device_peaks(made.graph, planned.program);
    REQUIRE(peaks.has_value());
    for (std::size_t d = 0; d < report.devices.size(); ++d) {
      CHECK((*peaks)[d].second == report.devices[d].memory.peak);
    }
  }
  CHECK(faster > random_cases(400) / 4);
}

TEST_CASE("list orders: 1f1b is near the shortest of all orders within the caps, 60 small chains") {
  double sum = 0.0;
  std::int64_t shortest = 0;
  const std::uint32_t cases = random_cases(60U);
  for (std::uint32_t seed = 1; seed <= cases; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    RandomCase made{chain(3, 1, 2), pairwise(2), straight(3, 2 + random() % 2, "1f1b")};
    for (Layer& layer : made.graph.layers) {
      layer.forward = Seconds(static_cast<double>(1 + random() % 9));
      layer.backward = Seconds(static_cast<double>(1 + random() % 9));
    }
    const std::size_t alone = random() % 3;
    for (std::size_t s = 0; s < 3; ++s) made.plan.stages[s].replicas = {DeviceId(s == alone ? 1U : 0U)};
    const Planned planned(made);
    const double least = Shortest(planned).find();
    const double time = evaluate_program(made.graph, made.platform, planned.program).iterations.back().value();
    CHECK(time >= least * (1 - 1e-12));
    CHECK(time <= least * 1.25);
    sum += time / least;
    shortest += time <= least * (1 + 1e-12) ? 1 : 0;
  }
  CHECK(sum / cases < 1.02);
  CHECK(shortest > cases / 2);
}

TEST_CASE("list orders: six partitions on four devices, 1f1b by times") {
  // Forwards of 4, 10, 12, 10, 10 and 6 s, backwards twice that; device 0 has stages 0, 2 and 5, so 16 microbatches are
  // 16 · 3 · (4 + 12 + 6) = 1056 s of work for it, and no order is faster. Rounds of one unit take 1540 s.
  RandomCase made{chain(6, 1, 2), pairwise(4), straight(6, 16, "1f1b")};
  const std::array<double, 6> times{4, 10, 12, 10, 10, 6};
  const std::array<std::uint32_t, 6> places{0, 1, 0, 2, 3, 0};
  for (std::size_t s = 0; s < 6; ++s) {
    made.graph.layers[LayerId(s)].forward = Seconds(times[s]);
    made.graph.layers[LayerId(s)].backward = Seconds(2 * times[s]);
    made.plan.stages[s].replicas = {DeviceId(places[s])};
  }
  const double time = evaluate_plan(made.graph, made.platform, made.plan).iterations.back().value();
  CHECK(time >= 1056);
  CHECK(time <= 1084);
}

TEST_CASE("list orders: a long plan is compared with its rounds in full") {
  for (std::uint32_t seed = 1; seed <= random_cases(6U); ++seed) {
    CAPTURE(seed);
    RandomCase made = shared_plan(seed, "1f1b");
    made.plan.microbatches = 700;
    const Planned planned(made);
    const double time = evaluate_program(made.graph, made.platform, planned.program).iterations.back().value();
    const Schedule rounds = order_by_rounds(planned.kept, planned.program.in_flight, true);
    CHECK(time <= evaluated(made, planned.program, rounds) * (1 + 1e-9));
  }
}

}  // namespace stagecraft::list_orders_test
