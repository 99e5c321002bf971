#include "experiments/run/chosen_degrees.hpp"

#include "experiments/run/chosen_size.hpp"
#include "experiments/run/degrees_text.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"
#include "sim/io/plan_degrees.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

using Say = std::function<void(const std::string&)>;

/// The answer for groups of one size.
struct TriedDegree {
  std::optional<Planning> planning = {};  ///< none: refused
  double samples_per_second = 0.0;        ///< 0: it does not fit
  std::vector<std::string> said = {};

  [[nodiscard]] bool fits() const { return samples_per_second > 0.0; }
  /// Of an answer without a plan; 0: not known.
  [[nodiscard]] Bytes lacking() const {
    const auto* none = std::get_if<Infeasible>(&planning->result);
    return none == nullptr ? Bytes(0) : none->excess;
  }
};

/// Whether an answer is better: faster, or if neither fits, one that lacks less memory.
bool is_better(const TriedDegree& one, const TriedDegree& other) {
  if (one.fits() || other.fits()) return one.samples_per_second > other.samples_per_second;
  return one.lacking() < other.lacking();
}

TriedDegree try_degree(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices) {
  TriedDegree tried;
  const Say listen = [&](const std::string& line) { tried.said.push_back(line); };
  tried.planning = plan_at_chosen_size(planner, inputs, choices, listen);
  if (!tried.planning->program) return tried;
  const Report report = evaluate_planning(*tried.planning, inputs.platform, choices.run_length);
  if (!report.out_of_memory()) tried.samples_per_second = report.throughput;
  return tried;
}

using Tries = std::map<std::int64_t, TriedDegree>;

/// `1 (does not fit), 2 (18.1 samples/s), 4 (25.3)`.
std::string tried_text(const Tries& tries) {
  std::string text;
  const char* unit = " samples/s";
  for (const auto& [degree, tried] : tries) {
    std::string outcome = tried.planning ? "does not fit" : "refused";
    if (tried.fits()) outcome = short_number(tried.samples_per_second) + std::exchange(unit, "");
    text += (text.empty() ? "" : ", ") + std::to_string(degree) + " (" + outcome + ")";
  }
  return text;
}

/// What the note says of the best answer, which is for groups of these degrees.
std::string outcome_text(const TriedDegree& best, const Degrees& degrees) {
  if (!best.fits()) return degrees.expert == 1 && degrees.context == 1 ? "no tensor groups fit" : "no groups fit";
  const std::string end = " are the fastest without contention";
  if (degrees.devices() == 1) return "devices alone" + end;
  if (degrees.devices() == degrees.tensor && degrees.expert == 1) {
    return "tensor groups of " + counted(degrees.tensor, "device") + end;
  }
  return "groups of " + counted(degrees.devices(), "device") + " (" + degrees_text(degrees) + ")" + end;
}

Planning plan_at_fastest_degree(const PlannerInfo& planner, const Inputs& inputs, PlanningChoices choices,
                                const Say& say) {
  Activity activity("looking for the fastest tensor groups");
  const std::vector<std::int64_t> degrees = tensor_degrees(inputs.platform, choices.degrees);
  if (degrees.empty()) {
    throw InputError(
        "no tensor degree makes groups that divide the nodes of platform " + quote(inputs.platform.spec.name),
        {"", 0, 0, "--tensor"}, "the other degrees are " + degrees_text(choices.degrees));
  }
  Tries tries;
  std::optional<InputError> refusal;
  for (const std::int64_t degree : degrees) {
    activity.count(tries.size(), degrees.size(), "sizes of groups");
    choices.degrees.tensor = degree;
    try {
      tries[degree] = try_degree(planner, inputs, choices);
    } catch (const InputError& error) {
      tries[degree] = {};
      if (!refusal) refusal = error;
    }
  }
  Tries::iterator best = tries.end();
  Seconds time;
  for (auto each = tries.begin(); each != tries.end(); ++each) {
    if (!each->second.planning) continue;
    time += each->second.planning->time;
    if (best == tries.end() || is_better(each->second, best->second)) best = each;
  }
  if (best == tries.end()) throw InputError(*refusal);
  for (const std::string& line : best->second.said) say(line);
  choices.degrees.tensor = best->first;
  say(fmt::format("note: {}: {}; tried: {}", planner.name, outcome_text(best->second, reduced(choices.degrees)),
                  tried_text(tries)));
  Planning planning = *std::move(best->second.planning);
  planning.time = time;
  return planning;
}

}  // namespace

std::vector<std::int64_t> tensor_degrees(const Platform& platform, Degrees others) {
  std::map<NodeId, std::int64_t> in_node;
  for (const Device& device : platform.devices) ++in_node[device.node];
  std::int64_t common = 0;
  for (const auto& [node, devices] : in_node) common = std::gcd(common, devices);
  others.tensor = 1;
  const bool spans_nodes = others.devices() > common;
  const std::int64_t whole = spans_nodes ? static_cast<std::int64_t>(platform.devices.size()) : common;
  std::vector<std::int64_t> degrees;
  for (std::int64_t degree = 1; degree <= std::min(common, kMostInGroup); ++degree) {
    others.tensor = degree;
    if (common % degree == 0 && !degrees_problem(others) && whole % others.devices() == 0) degrees.push_back(degree);
  }
  return degrees;
}

Planning plan_at_chosen_degrees(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices,
                                const Say& say) {
  return choices.fastest_degrees ? plan_at_fastest_degree(planner, inputs, choices, say)
                                 : plan_at_chosen_size(planner, inputs, choices, say);
}

}  // namespace stagecraft
