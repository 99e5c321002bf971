#include "sim/schedule/device_peaks.hpp"
#include "sim/schedule/fixed/fixed_program.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/list/fastest_halves.hpp"
#include "sim/schedule/list/order_time.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/one_f_one_b.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace stagecraft {

extern const ScheduleFamily family_zb_auto;

namespace {

using OrdersOf = std::function<Schedule(Segment)>;

constexpr double kFasterOrders = 1.0 - 1e-9;  ///< orders are faster only by more than rounding
constexpr std::int64_t kUseful = 4;           ///< microbatches in flight for each stage: twice round stages and links
constexpr std::int64_t kMostCounted =
    1 << 18;  ///< microbatches on stages, in orders whose memory is counted in advance

/// The fastest orders of a plan, which are chosen when the first ones are asked for.
class AutoOrders {
 public:
  /// Chosen are those of the fastest rule within some caps of `tried`, or `others` if they are faster.
  AutoOrders(std::shared_ptr<const KeptPlan> kept, std::shared_ptr<const PipelineWork> work,
             std::vector<std::vector<std::int64_t>> tried, std::vector<OrdersOf> others)
      : kept_(std::move(kept)), work_(std::move(work)), tried_(std::move(tried)), others_(std::move(others)) {}

  Schedule all() {
    std::call_once(once_, [this] { choose(); });
    return fastest_({0, kept_->plan.microbatches});
  }

 private:
  void choose() {
    for (const std::vector<std::int64_t>& caps : tried_) {
      attempt([kept = kept_, work = work_, rule = fastest_halves(kept_, work_, caps)](Segment segment) {
        return order_by_list(kept, work, rule, segment.end);
      });
    }
    for (const OrdersOf& other : others_) attempt(other);
  }

  void attempt(OrdersOf orders) {
    const std::int64_t all = kept_->plan.microbatches;
    const Seconds time = order_time(*kept_, *work_, orders({0, all}), all);
    if (time >= least_ * kFasterOrders) return;
    least_ = time;
    fastest_ = std::move(orders);
  }

  std::shared_ptr<const KeptPlan> kept_;
  std::shared_ptr<const PipelineWork> work_;
  std::vector<std::vector<std::int64_t>> tried_;
  std::vector<OrdersOf> others_;
  std::once_flag once_;
  Seconds least_ = kNever;
  OrdersOf fastest_;
};

/// What holds for the orders of a plan. **Shape** by stage.
struct Bounds {
  std::vector<std::int64_t> allowed;  ///< microbatches in flight on a replica, whatever memory its device has
  std::vector<std::int64_t> caps;     ///< those that fit in memory as well, in any order, or 1
  std::vector<std::int64_t> needed;   ///< those of 1f1b; with fewer a plan is one for which memory lacks
  std::vector<std::int64_t> weight_versions;
  bool by_memory = false;
};

/// The most microbatches of the replica that fit in its device's memory in any order, at least 1 and at most `allowed`.
std::int64_t most_in_memory(const PlanContext& context, const Bounds& bounds, ReplicaId id, std::int64_t allowed) {
  const SplitMemory moving = split_memory((*context.kept->work)[id].programs, context.plan.training);
  const Bytes held = static_memory(context.graph, *context.kept, bounds.weight_versions, id).total();
  const Bytes left = context.platform.capacity(context.replicas[id].device) - held - moving.one;
  if (left < moving.each) return 1;
  if (moving.each == Bytes(0)) return allowed;
  return std::min(allowed, 1 + left.value() / moving.each.value());
}

Bounds bounds_of(const PlanContext& context, const Options& parameters) {
  const Plan& plan = context.plan;
  Bounds bounds;
  bounds.by_memory = parameters.flag("memory");
  for (const Stage& stage : plan.stages) bounds.weight_versions.push_back(stage.weight_versions.value_or(1));
  const std::vector<std::int64_t> warmups = largest_warmups(plan);
  std::int64_t limit = parameters.count("limit");
  if (limit == 0) limit = bounds.by_memory ? kUseful * std::ssize(plan.stages) : std::ranges::max(warmups) + 1;
  for (const StageId id : indices<StageId>(plan.stages.size())) {
    const std::int64_t own = plan.stages[id.value()].in_flight.value_or(limit);
    std::int64_t cap =
        std::max<std::int64_t>(1, std::min({limit, own, most_of(context.replicas, id, plan.microbatches)}));
    bounds.allowed.push_back(cap);
    if (bounds.by_memory) {
      for (const ReplicaId replica : context.replicas.of(id)) cap = most_in_memory(context, bounds, replica, cap);
    }
    bounds.caps.push_back(cap);
    bounds.needed.push_back(std::min(bounds.allowed.back(), warmups[id.value()] + 1));
  }
  return bounds;
}

std::vector<std::int64_t> at_least(std::vector<std::int64_t> counts, const std::vector<std::int64_t>& least) {
  std::ranges::transform(counts, least, counts.begin(), std::ranges::max);
  return counts;
}

bool holds_no_more(const std::vector<std::int64_t>& in_flight, const std::vector<std::int64_t>& most) {
  return std::ranges::equal(in_flight, most, std::less_equal<>());
}

/// Whether the orders of another schedule keep the bounds. They may have more in flight than fits in any order.
bool keeps(const PlanContext& context, const Bounds& bounds, ScheduleProgram program) {
  if (holds_no_more(program.in_flight, bounds.caps)) return true;
  if (!bounds.by_memory || !holds_no_more(program.in_flight, bounds.allowed)) return false;
  const std::int64_t counted = context.plan.microbatches * std::ssize(context.plan.stages);
  if (!program.reaches_in_flight && counted > kMostCounted) return false;
  program.kept = context.kept;
  program.weight_versions = bounds.weight_versions;
  const auto peaks = device_peaks(context.graph, program);
  const auto fits = [&](const auto& peak) { return peak.second <= context.platform.capacity(peak.first); };
  return peaks && std::ranges::all_of(*peaks, fits);
}

/// The programs of other schedules that keep the bounds. Those of 1f1b with caps of the plan would come from runs as
/// well.
std::vector<ScheduleProgram> others_within(const PlanContext& context, const Bounds& bounds) {
  std::vector<Compilation> others;
  const auto has_cap = [](const Stage& stage) { return stage.in_flight.has_value(); };
  if (std::ranges::none_of(context.plan.stages, has_cap)) others.emplace_back(one_f_one_b_program(context, true, 1));
  for (const char* name : {"zb-h1", "zb-h2"}) {
    const ScheduleFamily& family = require_family(name);
    others.push_back(fixed_program(family, context, schedule_parameters({name, {}})));
  }
  std::vector<ScheduleProgram> within;
  for (const Compilation& other : others) {
    const auto* program = std::get_if<ScheduleProgram>(&other);
    if (program != nullptr && keeps(context, bounds, *program)) within.push_back(*program);
  }
  return within;
}

Compilation compile_zb_auto(const PlanContext& context, const Options& parameters) {
  if (share_devices(context.replicas)) {
    return ScheduleRefusals{{"zb-auto gives each device one stage, but some device has more", ""}};
  }
  Bounds bounds = bounds_of(context, parameters);
  std::vector<ScheduleProgram> within = others_within(context, bounds);
  const bool lacks = within.empty() && !holds_no_more(bounds.needed, bounds.caps);
  if (lacks) {
    bounds.caps = at_least(std::move(bounds.caps), bounds.needed);
    within = others_within(context, bounds);
  }
  ScheduleProgram program;
  program.at_once = true;
  program.alike = false;
  program.in_flight = bounds.caps;
  program.weight_versions.assign(context.plan.stages.size(), 1);
  std::vector<std::vector<std::int64_t>> tried = {bounds.caps};
  const bool is_given = bounds.by_memory || parameters.count("limit") > 0;
  if (is_given && !lacks) tried = tried_halves(context.plan, bounds.caps);
  std::vector<OrdersOf> others;
  for (const ScheduleProgram& other : within) {
    others.push_back(other.orders);
    program.in_flight = at_least(std::move(program.in_flight), other.in_flight);
  }
  const auto orders =
      std::make_shared<AutoOrders>(context.kept, std::make_shared<const PipelineWork>(pipeline_work(context, true)),
                                   std::move(tried), std::move(others));
  program.orders = [orders](Segment segment) { return segment.begin > 0 ? Schedule{} : orders->all(); };
  return program;
}

}  // namespace

const ScheduleFamily family_zb_auto{
    .name = "zb-auto",
    .summary = "split backwards in the fastest order for the plan's own times, within a number in flight; flushed",
    .source = "Zero Bubble Pipeline Parallelism (Qi et al., ICLR 2024)",
    .synchronous = true,
    .parameters = {{.name = "limit",
                    .default_value = std::int64_t{0},
                    .description = "most microbatches in flight on a device; 0: as many as the first stage of 1f1b has",
                    .least = 0,
                    .most = 1 << 20},
                   {.name = "memory",
                    .default_value = false,
                    .description = "on each device as many in flight as fit in its memory, within the limit if one is "
                                   "given"}},
    .compile = compile_zb_auto,
    .is_searched = true,
};

}  // namespace stagecraft
