#include "sim/analytic/lower_bound.hpp"

#include "sim/analytic/iteration_bound.hpp"
#include "sim/analytic/period_bound.hpp"
#include "sim/analytic/sampled_run.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"

#include <algorithm>
#include <cstdint>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

/// By stage, what no run exceeds; empty if only the orders tell. Where times decide the order, a stage takes every
/// forward that is ready while its backwards are late, so only a cap of its own limits it.
std::vector<std::int64_t> most_in_flight_of(const ScheduleProgram& program) {
  if (program.orders_are_given) return {};
  if (program.strict) return program.in_flight;
  std::vector<std::int64_t> caps;
  for (const Stage& stage : program.kept->plan.stages) {
    caps.push_back(stage.in_flight.value_or(program.kept->plan.microbatches));
  }
  return caps;
}

bool slows_down(const Platform& platform, const Event& event) {
  if (const auto* slowdown = std::get_if<Slowdown>(&event.change)) return slowdown->factor >= 1.0;
  if (const auto* change = std::get_if<BandwidthChange>(&event.change)) {
    return change->bandwidth <= platform.links[change->link].bandwidth;
  }
  if (const auto* jitter = std::get_if<Jitter>(&event.change)) return jitter->sigma == 0.0;
  if (const auto* work = std::get_if<MicrobatchWork>(&event.change)) {
    return std::ranges::all_of(work->factors, [](double factor) { return factor >= 1.0; });
  }
  const bool is_other_work =
      std::holds_alternative<ModelChange>(event.change) || std::holds_alternative<SizeChange>(event.change);
  return !is_other_work;  // else a failure, or less memory
}

Sampling sampling_of(const ScheduleProgram& program, bool takes_all) {
  const Plan& plan = program.kept->plan;
  const Replicas& replicas = program.kept->replicas;
  if (!program.alike) return {Representatives(plan.microbatches), true};
  if (program.synchronous) {
    const auto is_late = [](const Stage& stage) { return stage.swap_backlog.has_value(); };
    const bool wait = program.orders_are_given || std::ranges::any_of(plan.stages, is_late);  // for each other
    const bool is_chained = plan.training.zero >= 2;  // exchanges of one microbatch wait for those of the one before
    return {Representatives::of_iteration(plan, replicas), takes_all || wait || is_chained};
  }
  const std::int64_t round = whole_round(plan, replicas);
  return {Representatives::of_run(plan, replicas, discarded_at_an_end(program), round), false, round,
          plan.rounds_per_update};
}

}  // namespace

BoundFold::BoundFold(const Platform& platform, const ScheduleProgram& program, bool takes_all)
    : kept_(program.kept),
      synchronous_(program.synchronous),
      in_flight_(most_in_flight_of(program)),
      run_(std::make_unique<SampledRun>(platform, kept_->replicas, sampling_of(program, takes_all))) {}
BoundFold::~BoundFold() = default;
BoundFold::BoundFold(BoundFold&&) noexcept = default;
BoundFold& BoundFold::operator=(BoundFold&&) noexcept = default;

void BoundFold::add(const OpGraph& window) { run_->add(window); }

bool BoundFold::needs_all() const { return synchronous_ && !run_->has_ends(); }

std::optional<LowerBound> BoundFold::finish(bool shares_links) const {
  if (!run_->is_whole() || needs_all()) return std::nullopt;
  const Plan& plan = kept_->plan;
  const LowerBound bound = synchronous_ ? iteration_bound(*run_, plan.microbatches, in_flight_, shares_links)
                                        : period_bound(*run_, plan, in_flight_, shares_links);
  return bound.time > Seconds(0) ? std::optional(bound) : std::nullopt;
}

std::optional<LowerBound> lower_bound(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                                      const BoundOptions& options) {
  LowerOptions lowering = options.lowering;
  lowering.iterations = 1;
  const auto folded = [&](bool takes_all) {
    BoundFold fold(platform, program, takes_all);
    const LoweredRun run = lower(graph, platform, program, lowering);
    const Observation observation;
    while (const std::optional<OpGraph> window = run.source.next(observation)) fold.add(*window);
    return fold;
  };
  BoundFold fold = folded(false);
  if (fold.needs_all()) fold = folded(true);
  return fold.finish(options.shares_links);
}

bool bound_holds(const Platform& platform, const Events& events, bool synchronous) {
  if (events.empty()) return true;
  return synchronous && std::ranges::all_of(events, [&](const Event& event) { return slows_down(platform, event); });
}

}  // namespace stagecraft
