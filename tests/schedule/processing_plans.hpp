#pragma once

#include "sim/schedule/families/spp_pe/processing_run.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "tests/schedule/random_plans.hpp"

#include <random>
#include <string>
#include <vector>

namespace stagecraft::testing {

/// `1f1b,duplex=full` and the like as the parameters of a plan's schedule.
inline ScheduleChoice processing_schedule(const ProcessingSettings& settings, const std::string& channels) {
  const std::string cap = settings.cap == InFlightCap::None     ? "none"
                          : settings.cap == InFlightCap::Double ? "double"
                                                                : "1f1b";
  return {"spp-pe",
          {{"pe_exec", settings.strict ? "strict" : "list"},
           {"inflight_cap", cap},
           {"duplex", settings.full_duplex ? "full" : "half"},
           {"channels", channels}}};
}

/// A pipeline whose stages divide each microbatch, and what it is run with.
struct ProcessingCase {
  RandomCase random;
  ProcessingSettings settings;
  std::vector<std::int64_t> caps;  ///< of the stages
};

inline std::vector<std::int64_t> own_caps(const Plan& plan) {
  std::vector<std::int64_t> caps;
  for (const Stage& stage : plan.stages) caps.push_back(stage.in_flight.value_or(std::int64_t{1} << 40));
  return caps;
}

inline ProcessingCase processing_case(std::uint32_t seed, bool strict) {
  ProcessingCase made{random_case(seed, {Sharing::Fair, true, false, 1.0, false}), {}, {}};
  std::mt19937 generator(seed);
  made.settings.strict = strict;
  made.settings.full_duplex = generator() % 2 == 0;
  made.settings.cap = static_cast<InFlightCap>(generator() % 3);
  Plan& plan = made.random.plan;
  for (Stage& stage : plan.stages) {
    stage.replication = Replication::Split;
    if (generator() % 4 != 0) stage.in_flight.reset();
  }
  plan.microbatches = 1 + static_cast<std::int64_t>(generator() % 24);
  plan.schedule = processing_schedule(made.settings, "exclusive");
  made.caps = own_caps(plan);
  return made;
}

/// The plan's figures in the execution without lowering.
inline ProcessingFigures executed(const ProcessingCase& of) {
  const PipelineTimes times =
      pipeline_times(of.random.graph, of.random.platform, {of.random.graph, of.random.platform, of.random.plan});
  return run_blocks(times, of.random.plan.microbatches, of.settings, of.caps);
}

}  // namespace stagecraft::testing
