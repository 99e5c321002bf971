#pragma once

#include "planners/planner.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// Stages of about equal compute time, all with the same number of replicas of one device each, on runs of devices in
/// platform order. A pipeline is a chain of `length` runs (a stage on each, unless the schedule places several) with
/// `replicas` devices.
struct EvenShape {
  std::size_t length = 1;
  std::size_t replicas = 1;
  friend bool operator==(const EvenShape&, const EvenShape&) = default;
};

/// The shapes that the options `stages` and `replicas` leave open. With both: that one. With one of them: as many
/// stages as devices, schedule and layers allow; or powers of two and the most replicas that there are devices for.
/// With neither: every length with as many replicas as there are devices for, but not more than microbatches; the
/// longest first.
/// **Throws** InputError naming what the platform, the schedule or the model has not enough of.
[[nodiscard]] std::vector<EvenShape> even_shapes(const PlannerInfo& planner, const PlanRequest& request);

/// Shapes like these with fewer replicas, if the options leave their number open: powers of two, as many as keep a
/// pipeline in one node, and the fewest that take as many rounds of microbatches.
[[nodiscard]] std::vector<EvenShape> fewer_replicas(const PlanRequest& request, const std::vector<EvenShape>& shapes);

/// How many shapes with the best claims are planned for and compared by evaluations.
[[nodiscard]] std::size_t shapes_to_compare(const LayerGraph& graph);

/// The `most` shapes whose plans have the best claims, of those that `best_even_pipeline` would choose from and
/// that fit in memory; the best one first. **Throws** and **costs** as it.
[[nodiscard]] std::vector<EvenShape> best_even_shapes(const PlannerInfo& planner, const PlanRequest& request,
                                                      const std::vector<EvenShape>& shapes, std::size_t most);

/// Of the plans with the best claims, one of each of `shapes_to_compare` shapes, the fastest (`FastestPlan`); the one
/// with the better claim of equal ones. Then half as many plans with `fewer_replicas` are compared with it. They fit in
/// memory, with the cheapest memory actions of the request's policy where they do not fit without
/// (`judged_with_savings`). Each shape is cut so that its slowest stage is as fast as possible; where the policy allows
/// recomputation, also for a model that recomputes all. Of the cuts with that slowest stage it may be another one
/// (`equal_cut`), if that is faster or fits where the first does not; if the schedule puts several stages on a device,
/// what wins without chosen actions has its layers shifted as long as its claim gets better and it fits
/// (`shift_layers`). With `recompute` `layer` or `stage` in place of `none`, stages recompute just that.
///
/// The claim is that of the shared cost model (`pipeline_claim`), or if the schedule puts several stages on a device,
/// the evaluated time (`evaluated_claim`), or without flushes that of the largest device and stage times
/// (`claimed_figures`). Details: `stage_time_s`, the time of the slowest stage, and
/// `imbalance`, that time over the mean of all stages.
/// **Requires** at least one shape. **Throws** InputError if the schedule refuses every shape.
/// **Cost** `BalancedCuts` for the longest shape, and again for each whose devices are not equally fast; the claim,
/// `estimated_savings`, `judged_with_savings` and an evaluation for the shapes that may be the best.
[[nodiscard]] PlanResult best_even_pipeline(const PlannerInfo& planner, const PlanRequest& request,
                                            const std::vector<EvenShape>& shapes, const std::string& recompute);

}  // namespace stagecraft
