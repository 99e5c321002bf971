#include "planners/pipedream/claim.hpp"

#include "planners/shared/cost_model.hpp"
#include "sim/model/plan.hpp"

#include <algorithm>

namespace stagecraft::pipedream {
namespace {

/// A pipeline whose stages do not synchronise in every round.
struct PipelineTimes {
  double period = 0.0;           ///< of the slowest stage or boundary
  double synchronisation = 0.0;  ///< the longest of a stage, over all levels
};

PipelineTimes pipeline_times(const DownSets& states, const Settings& settings, std::size_t level,
                             const std::vector<Segment>& segments) {
  const double bandwidth = settings.levels.empty() ? 1.0 : settings.levels[level].bandwidth.value();
  const auto difference = [](const std::vector<double>& sums, const Segment& segment) {
    return sums[segment.to] - (segment.from == kNothing ? 0.0 : sums[segment.from]);
  };
  PipelineTimes all;
  for (const Segment& segment : segments) {
    const double q = segment.replicas;
    const PipelineTimes inner = level > 0 ? pipeline_times(states, settings, level - 1, segment.inner)
                                          : PipelineTimes{difference(states.compute, segment) * settings.time_factor};
    const double sync = 4.0 * (q - 1.0) * difference(states.parameters, segment) / (bandwidth * q);
    all.period = std::max(all.period, inner.period / q);
    all.synchronisation = std::max(all.synchronisation, inner.synchronisation + sync);
    if (!settings.communication || &segment == &segments.front()) continue;
    const double output = segment.to + 1 == states.count ? 0.0 : states.traffic[segment.to];
    const double links = settings.boundary == BoundaryCost::Whole ? 1.0 : q;
    const double bytes = std::max(states.traffic[segment.from], output);
    all.period = std::max(all.period, 2.0 * bytes / (bandwidth * links));
  }
  return all;
}

}  // namespace

Figures claim(const Plan& plan, const DownSets& states, const Settings& settings, const Answer& answer) {
  if (is_asynchronous(plan.schedule)) return claimed_figures(plan, Seconds(answer.period), 1);
  const std::size_t outermost = settings.levels.empty() ? 0 : settings.levels.size() - 1;
  const PipelineTimes times = pipeline_times(states, settings, outermost, answer.segments);
  Figures figures = claimed_figures(plan, Seconds(times.period), 1);
  *figures.iteration_time += Seconds(times.synchronisation);
  return figures;
}

}  // namespace stagecraft::pipedream
