#include "experiments/run/traffic.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>

namespace stagecraft {
namespace {

Loads sorted(const std::map<TrafficCause, double>& sums) {
  Loads loads(sums.begin(), sums.end());
  std::ranges::stable_sort(loads, std::greater<>(), &Loads::value_type::second);
  return loads;
}

}  // namespace

std::size_t TrafficFold::PairHash::operator()(const Pair& pair) const {
  auto hash = static_cast<std::uint64_t>(pair.kind);
  for (const std::uint32_t part : {pair.stage.value(), std::uint32_t{pair.chunk}, pair.source.value(),
                                   pair.target.value(), std::uint32_t{static_cast<std::uint8_t>(pair.leg)}}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15U;  // Fibonacci hashing
    hash ^= hash >> 32U;
  }
  return hash;
}

TrafficFold::TrafficFold(const Platform& platform, const Plan& plan, std::int64_t iterations)
    : platform_(platform), replicas_(plan), stages_(plan.stages.size()), synchronous_(!is_asynchronous(plan.schedule)) {
  const std::int64_t round = whole_round(plan, replicas_);
  parts_ = synchronous_ ? iterations : plan.microbatches / round * round;
}

void TrafficFold::add(const Span& span, const Op& op) {
  if (span.aborted || !crosses_links(op) || op.bytes == Bytes(0)) return;
  double& bytes = sums_[{op.kind, op.stage, op.chunk, op.from, op.to, op.leg}];
  if (synchronous_ || std::int64_t{op.microbatch} < parts_) bytes += static_cast<double>(op.bytes.value());
}

TrafficCause TrafficFold::cause_of(const Pair& pair) const {
  const bool is_boundary = pair.kind == OpKind::Activation || pair.kind == OpKind::Gradient;
  if (pair.stage.value() >= stages_) return {pair.kind, pair.stage, is_boundary ? StageId::none() : pair.stage};
  if (is_boundary) {
    const ReplicaId receiver = replicas_.on(platform_.device(pair.target))[pair.chunk];
    return {pair.kind, pair.stage, replicas_[receiver].stage};
  }
  const bool is_tied = is_ring_flow(pair.kind) && pair.chunk >= replicas_.rings().size();
  return {pair.kind, pair.stage, is_tied ? StageId::none() : pair.stage};
}

Traffic TrafficFold::finish() const {
  std::vector<Flow> all;
  for (const auto& [pair, bytes] : sums_) all.push_back({cause_of(pair), pair.source, pair.target, pair.leg, bytes});
  std::ranges::sort(all);
  Traffic traffic{{}, parts_};
  const auto is_same = [](const Flow& a, const Flow& b) {
    return std::tie(a.cause, a.source, a.target, a.leg) == std::tie(b.cause, b.source, b.target, b.leg);
  };
  for (const Flow& flow : all) {
    if (!traffic.flows.empty() && is_same(traffic.flows.back(), flow)) {
      traffic.flows.back().bytes += flow.bytes;
    } else {
      traffic.flows.push_back(flow);
    }
  }
  return traffic;
}

TrafficEvaluation evaluate_traffic(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program) {
  TrafficEvaluation evaluation;
  std::optional<TrafficFold> fold;
  evaluation.report = evaluate_until_converged(graph, platform, program, {}, [&](const ScheduleProgram& run) {
    fold.emplace(platform, run.kept->plan, 1);
    return RunWatch([&](const Span& span, const Op& op, auto) { fold->add(span, op); });
  });
  evaluation.traffic = fold->finish();
  return evaluation;
}

Loads loads_by_cause(const Traffic& traffic) {
  std::map<TrafficCause, double> sums;
  for (const Flow& flow : traffic.flows) {
    if (is_last(flow.leg)) sums[flow.cause] += flow.bytes;
  }
  return sorted(sums);
}

std::map<LinkId, Loads> loads_by_link(const Platform& platform, const Traffic& traffic) {
  std::map<LinkId, std::map<TrafficCause, double>> sums;
  Route route;
  for (const Flow& flow : traffic.flows) {
    if (!find_route(platform, flow.source, flow.target, flow.leg, route)) continue;
    for (LinkId link : route.links) sums[link][flow.cause] += flow.bytes;
  }
  std::map<LinkId, Loads> loads;
  for (const auto& [link, by_cause] : sums) loads[link] = sorted(by_cause);
  return loads;
}

}  // namespace stagecraft
