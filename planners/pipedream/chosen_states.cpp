#include "planners/pipedream/chosen_states.hpp"

#include "planners/pipedream/memory_test.hpp"
#include "planners/shared/costs/work.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace stagecraft::pipedream {
namespace {

void require_work(const PlanRequest& request, std::size_t states, double work) {
  require_affordable({.what = "the tables of " + std::to_string(states) + " states",
                      .steps = work,
                      .unit = "transitions",
                      .remedy = "merge the layers of parallel branches, plan for fewer devices"},
                     {.steps = request.options.number("max_work"), .option = "max_work"});
}

/// The steps of planning: the transitions, and the memory test if it counts the whole pipeline.
double planning_work(const PlanRequest& request, std::size_t count, const Settings& settings) {
  const bool whole = settings.memory != nullptr && settings.memory->whole_pipeline;
  return transitions(count, settings) + (whole ? ledger_test_work(request, count) : 0.0);
}

/// The most states, up to `max_states`, with which planning takes at most `work`.
std::size_t affordable_states(const PlanRequest& request, const Settings& settings, double work) {
  std::size_t low = 0;
  auto high = static_cast<std::size_t>(request.options.count("max_states"));
  while (low < high) {
    const std::size_t middle = high - (high - low) / 2;
    if (planning_work(request, middle, settings) > work) {
      high = middle - 1;
    } else {
      low = middle;
    }
  }
  return low;
}

/// Part of the states where `compress` asks for it. A tenth of `max_work` is enough: more states hardly give better
/// plans (docs/reference/planners/pipedream.md).
std::optional<DownSets> compressed_states(const PlanRequest& request, const LayerGraph& graph,
                                          const Settings& settings) {
  if (!request.options.flag("compress")) return std::nullopt;
  const double work = request.options.number("max_work");
  std::optional<DownSets> part = narrowed_down_sets(graph, affordable_states(request, settings, work / 10.0));
  const std::size_t most = affordable_states(request, settings, work);
  if (!part) part = narrowed_down_sets(graph, most);
  if (!part && most > 0) part = thinned_down_sets(graph, most);
  return part;
}

}  // namespace

DownSets choose_states(const PlanRequest& request, const LayerGraph& graph, const Settings& settings) {
  const auto max_states = static_cast<std::size_t>(request.options.count("max_states"));
  const double max_work = request.options.number("max_work");
  std::optional<DownSets> states = enumerate_down_sets(graph, affordable_states(request, settings, max_work));
  if (!states) states = compressed_states(request, graph, settings);
  if (states) return std::move(*states);
  states = enumerate_down_sets(graph, max_states);
  if (states) require_work(request, states->count, planning_work(request, states->count, settings));
  const std::string compress = request.options.flag("compress") ? "" : "set compress=true, ";
  throw InputError("the graph has more than " + std::to_string(max_states) +
                       " states (option max_states), whose tables would need more than " +
                       format_number(std::ceil(transitions(max_states, settings))) + " transitions",
                   {}, compress + "merge the layers of parallel branches, or raise max_states and max_work");
}

void restrict_states(const PlanRequest& request, const LayerGraph& graph, const Settings& settings, DownSets& states) {
  const double work = planning_work(request, states.count, settings);
  if (work <= request.options.number("max_work")) return;
  std::optional<DownSets> part = compressed_states(request, graph, settings);
  if (!part) require_work(request, states.count, work);
  states = std::move(*part);
}

}  // namespace stagecraft::pipedream
