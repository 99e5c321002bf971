#include "sim/schedule/fixed/fixed_program.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/list/fastest_halves.hpp"
#include "sim/schedule/list/order_time.hpp"
#include "sim/schedule/one_f_one_b.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace stagecraft {

extern const ScheduleFamily family_zb_auto;

namespace {

using OrdersOf = std::function<Schedule(Segment)>;

/// The orders of other schedules that hold no more on any stage. Those of 1f1b with caps of the plan would come from
/// runs as well.
std::vector<OrdersOf> orders_within(const PlanContext& context, const std::vector<std::int64_t>& caps) {
  std::vector<Compilation> others;
  const auto has_cap = [](const Stage& stage) { return stage.in_flight.has_value(); };
  if (std::ranges::none_of(context.plan.stages, has_cap)) others.emplace_back(one_f_one_b_program(context, true, 1));
  for (const char* name : {"zb-h1", "zb-h2"}) {
    const ScheduleFamily& family = require_family(name);
    others.push_back(fixed_program(family, context, schedule_parameters({name, {}})));
  }
  std::vector<OrdersOf> within;
  for (const Compilation& other : others) {
    const auto* program = std::get_if<ScheduleProgram>(&other);
    if (program == nullptr || !std::ranges::equal(program->in_flight, caps, std::less_equal<>())) continue;
    within.push_back(program->orders);
  }
  return within;
}

/// The fastest orders of a plan, which are chosen when the first ones are asked for.
class AutoOrders {
 public:
  AutoOrders(std::shared_ptr<const KeptPlan> kept, std::shared_ptr<const PipelineWork> work,
             std::vector<std::int64_t> caps, std::vector<OrdersOf> others)
      : kept_(std::move(kept)), work_(std::move(work)), caps_(std::move(caps)), others_(std::move(others)) {}

  Schedule all() {
    std::call_once(once_, [this] { choose(); });
    return chosen_ ? others_[*chosen_]({0, kept_->plan.microbatches}) : listed();
  }

 private:
  [[nodiscard]] Schedule listed() const { return order_by_list(kept_, work_, rule_, kept_->plan.microbatches); }

  void choose() {
    const std::int64_t all = kept_->plan.microbatches;
    rule_ = fastest_halves(kept_, work_, caps_);
    Seconds least = order_time(*kept_, *work_, listed(), all);
    for (std::size_t i = 0; i < others_.size(); ++i) {
      const Seconds time = order_time(*kept_, *work_, others_[i]({0, all}), all);
      if (time >= least) continue;
      least = time;
      chosen_ = i;
    }
  }

  std::shared_ptr<const KeptPlan> kept_;
  std::shared_ptr<const PipelineWork> work_;
  std::vector<std::int64_t> caps_;
  std::vector<OrdersOf> others_;
  std::once_flag once_;
  ListRule rule_;
  std::optional<std::size_t> chosen_;  ///< of `others_`; none for the rule
};

/// By stage: the most microbatches in flight on a replica.
std::vector<std::int64_t> caps_of(const PlanContext& context, std::int64_t limit) {
  const Plan& plan = context.plan;
  if (limit == 0) limit = std::ranges::max(largest_warmups(plan)) + 1;
  std::vector<std::int64_t> caps;
  for (const StageId id : indices<StageId>(plan.stages.size())) {
    const std::int64_t own = plan.stages[id.value()].in_flight.value_or(limit);
    caps.push_back(std::max<std::int64_t>(1, std::min({limit, own, most_of(context.replicas, id, plan.microbatches)})));
  }
  return caps;
}

Compilation compile_zb_auto(const PlanContext& context, const Options& parameters) {
  if (share_devices(context.replicas)) {
    return ScheduleRefusals{{"zb-auto gives each device one stage, but some device has more", ""}};
  }
  ScheduleProgram program;
  program.at_once = true;
  program.alike = false;
  program.in_flight = caps_of(context, parameters.count("limit"));
  program.weight_versions.assign(context.plan.stages.size(), 1);
  const auto work = std::make_shared<const PipelineWork>(pipeline_work(context, true));
  const auto orders =
      std::make_shared<AutoOrders>(context.kept, work, program.in_flight, orders_within(context, program.in_flight));
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
                    .most = 1 << 20}},
    .compile = compile_zb_auto,
    .is_searched = true,
};

}  // namespace stagecraft
