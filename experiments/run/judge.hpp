#pragma once

#include "sim/base/error.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/model/given_orders.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/model/timeline.hpp"
#include "sim/schedule/lower.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

struct Plan;

/// Something wrong with a plan: the rule that it breaks, and how.
struct Finding {
  std::string rule;  ///< names, schedule, length, size, memory, or a rule of `check_plan`
  std::optional<std::uint32_t> stage;
  std::string message;
  InputPlace place = {};  ///< in the plan's file, if it is known
  std::string hint = {};
  friend bool operator==(const Finding&, const Finding&) = default;
};

/// The message with its place and its hint.
[[nodiscard]] std::string to_string(const Finding& finding);

/// What is found about a plan: its program, or all reasons why it cannot be run.
struct Judgement {
  std::optional<ScheduleProgram> program;  ///< if there are no findings
  std::vector<Finding> findings;
};

/// Compiles a plan, unless it cannot be run: for unknown names, broken rules, a schedule that cannot run it, a run that
/// is too short to measure or too large to simulate. All that follows takes the program.
[[nodiscard]] Judgement judge_plan(const LayerGraph& graph, const Platform& platform, const PlanReading& reading);

/// The findings about the run of a plan that breaks no rule: too short to measure, or too large to simulate.
[[nodiscard]] std::vector<Finding> judge_program(const LayerGraph& graph, const ScheduleProgram& program);

/// All reasons why orders do not fit the plan, and whether they deadlock. A `rule` for transfers takes the place of
/// that of the orders (`with_transfers`).
[[nodiscard]] std::vector<Finding> judge_orders(const LayerGraph& graph, const Platform& platform,
                                                const ScheduleProgram& program, GivenOrders& orders,
                                                const std::optional<Transfers>& rule = {});

/// A warning if the plan predicts an iteration time where its schedule has a period, or the other way round; else
/// empty.
[[nodiscard]] std::string prediction_remark(const Plan& plan, bool synchronous);

/// **Throws** InputError if there are findings, at the place of the first one or else for the file `path`. The message
/// consists of `what`, the first finding and the number of the others.
void refuse_findings(const std::string& path, const std::string& what, const std::vector<Finding>& findings,
                     const std::string& hint);

/// One finding for each place (device or host) that ran out of memory.
[[nodiscard]] std::vector<Finding> memory_findings(const Report& report, const Platform& platform);

/// Counts the microbatches in flight in a run of a plan, for the stages with a cap.
class CapCount {
 public:
  /// `plan` must outlive it.
  explicit CapCount(const Plan& plan) : plan_(plan) {}
  /// **Requires** that the computations of each device are added in the order of their starts.
  void add(const Span& span, const Op& op);
  /// One finding for each stage and device with more microbatches in flight than the cap.
  [[nodiscard]] std::vector<Finding> findings(const Platform& platform) const;

 private:
  struct Count {
    std::int64_t now = 0;
    std::int64_t peak = 0;
  };
  const Plan& plan_;
  std::map<std::pair<StageId, PlaceId>, Count> counts_;
};

/// What goes wrong when the plan runs without contention: caps on microbatches in flight that are exceeded, and places
/// that run out of memory. **Requires** orders without findings if `options` has them.
[[nodiscard]] std::vector<Finding> judge_run(const LayerGraph& graph, const Platform& platform,
                                             const ScheduleProgram& program, const LowerOptions& options = {});

/// The reason why a run is too large, if it is: more than 10^9 computations (each of one microbatch on one stage), or
/// possibly more than 1 EiB of memory.
[[nodiscard]] std::optional<std::string> size_problem(const LayerGraph& graph, const Plan& plan,
                                                      std::int64_t iterations);

}  // namespace stagecraft
