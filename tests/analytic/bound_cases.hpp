#pragma once

#include "sim/model/events.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/lower.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/periodic_plans.hpp"
#include "tests/schedule/processing_plans.hpp"
#include "tests/schedule/random_plans.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

namespace stagecraft::testing {

/// A random plan with the options of its run.
struct BoundCase {
  RandomCase random;
  LowerOptions options;
  Events events;  ///< that slow things down
  [[nodiscard]] const std::string& family() const { return random.plan.schedule.name; }
};

/// Stages of a layer on two to four devices, where a schedule of fixed orders has them.
inline RandomCase fixed_case(std::mt19937& random) {
  RandomCase made;
  const std::vector<const ScheduleFamily*> families = fixed_families();
  const ScheduleFamily& family = *families[random() % families.size()];
  const std::size_t devices = family.even_devices ? 2 + random() % 2 * 2 : 2 + random() % 3;
  ScheduleChoice schedule{family.name, {}};
  if (schedule.name.starts_with("interleaved"))
    schedule.parameters = {{"chunks", static_cast<std::int64_t>(2 + random() % 2)}};
  made.plan = fixed_plan(schedule, devices, static_cast<std::int64_t>(2 * devices * (1 + random() % 3)));
  made.graph = chain(layers_of(made.plan), 1, 2, static_cast<std::int64_t>(random() % 1000), 1000, 100);
  for (Layer& layer : made.graph.layers) {
    layer.forward = Seconds(0.25 * static_cast<double>(1 + random() % 8));
    layer.backward = Seconds(0.25 * static_cast<double>(1 + random() % 16));
    layer.backward_weight = layer.backward * (0.25 * static_cast<double>(random() % 4));
  }
  made.platform = pairwise(devices, 1000.0, 0.125);
  return made;
}

/// Two pipelines, each with cuts of its own, over six layers.
inline RandomCase pipelines_case(std::mt19937& random) {
  RandomCase made;
  made.graph = chain(6, 1, 2, 500, 1000, 400);
  for (Layer& layer : made.graph.layers) layer.forward = Seconds(0.25 * static_cast<double>(1 + random() % 8));
  std::uint32_t device = 0;
  for (std::uint32_t pipeline = 0; pipeline < 2; ++pipeline) {
    for (std::uint32_t layer = 0; layer < 6;) {
      Stage stage;
      stage.pipeline = pipeline;
      const auto end = static_cast<std::uint32_t>(layer + 1 + random() % (6 - layer));
      while (layer < end) stage.layers.emplace_back(layer++);
      stage.replicas = {DeviceId(device++)};
      made.plan.stages.push_back(std::move(stage));
    }
  }
  std::ranges::stable_sort(made.plan.stages, {}, [](const Stage& stage) { return stage.layers.front(); });
  made.platform = pairwise(device, 1000.0, 0.125);
  made.plan.schedule.name = random() % 2 == 0 ? "1f1b" : "gpipe";
  made.plan.microbatches = static_cast<std::int64_t>(2 + random() % 12);
  if (random() % 2 == 0) made.plan.training.gradient_bucket = Bytes(500);
  return made;
}

/// Plans of all families, about as many of each, with recomputes, swaps, buckets, caps, replicas that alternate and
/// that divide, two pipelines, literal orders, exclusive links, and both networks.
class BoundCases {
 public:
  [[nodiscard]] static BoundCase make(std::uint32_t seed) {
    std::mt19937 random(seed);
    BoundCase made;
    made.options.network = random() % 3 == 0 ? NetworkModel::Analytic : NetworkModel::Platform;
    const auto kind = static_cast<Kind>(std::min(seed % 8, 5U));
    made.random = of_kind(kind, seed, random);
    give_samples(made.random);
    if (kind == Kind::Asynchronous || kind == Kind::Periodic) return made;
    made.options.iterations = 1 + static_cast<std::int64_t>(random() % 2);
    if (kind == Kind::Literal) give_orders(made);
    if (random() % 5 == 0) made.events.push_back({Seconds(2), std::nullopt, Slowdown{DeviceId(0), 1.5}});
    return made;
  }

 private:
  /// Eight samples for a microbatch, so that parts are unequal; more where shares want more for each replica.
  static void give_samples(RandomCase& made) {
    std::int64_t samples = 8;
    for (const Stage& stage : made.plan.stages) samples = std::max(samples, least_samples(stage));
    made.graph.microbatch_size = made.plan.microbatch_size = samples;
  }

  enum class Kind : std::uint8_t { Asynchronous, Processing, Periodic, Fixed, Literal, Flushed };

  static RandomCase of_kind(Kind kind, std::uint32_t seed, std::mt19937& random) {
    switch (kind) {
      case Kind::Processing: {
        ProcessingCase made = processing_case(seed, seed % 16 < 8);
        return std::move(made.random);
      }
      case Kind::Periodic: return PeriodicPlans(seed).make();
      case Kind::Fixed: return seed % 3 == 0 ? pipelines_case(random) : fixed_case(random);
      default: break;
    }
    RandomCaseOptions options;
    options.sharing = random() % 3 == 0 ? Sharing::Exclusive : Sharing::Fair;
    options.traffic = random() % 3 == 0 ? 8.0 : 1.0;
    options.allow_replicas = kind != Kind::Literal;
    RandomCase made = random_case(seed, options);
    const bool wants_period = kind == Kind::Asynchronous;
    made.plan.schedule.name = wants_period ? "pipedream" : std::array{"gpipe", "1f1b", "eager-1f1b"}.at(seed / 8 % 3);
    if (made.plan.schedule.name == "gpipe") {
      for (Stage& stage : made.plan.stages) stage.in_flight.reset();
    }
    if (wants_period) made.plan.microbatches = least_length(made.plan) + static_cast<std::int64_t>(random() % 24);
    return made;
  }

  /// The orders of the plan's own schedule, as literal ones.
  static void give_orders(BoundCase& made) {
    Plan& plan = made.random.plan;
    const ScheduleProgram program = require_schedule(made.random.graph, made.random.platform, plan);
    made.options.literal = program.orders({0, plan.microbatches});
    for (Stage& stage : plan.stages) stage.in_flight.reset();
    plan.schedule = {"literal", {}};
  }
};

}  // namespace stagecraft::testing
