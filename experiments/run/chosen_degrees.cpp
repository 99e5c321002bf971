#include "experiments/run/chosen_degrees.hpp"

#include "experiments/run/chosen_size.hpp"
#include "experiments/run/degrees_text.hpp"
#include "experiments/run/plan_search.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"
#include "sim/io/plan_degrees.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace stagecraft {
namespace {

using Say = std::function<void(const std::string&)>;

/// `1 (does not fit), 2 (18.1 samples/s), 4 (25.3)`.
std::string tried_text(const std::vector<PlanTry>& tries) {
  std::map<std::int64_t, const PlanTry*> by_degree;
  for (const PlanTry& tried : tries) by_degree[tried.choices.degrees.tensor] = &tried;
  std::string text;
  const char* unit = " samples/s";
  for (const auto& [degree, tried] : by_degree) {
    std::string outcome = tried->refusal ? "refused" : "does not fit";
    if (tried->fits()) outcome = short_number(tried->samples_per_second) + std::exchange(unit, "");
    text += (text.empty() ? "" : ", ") + std::to_string(degree) + " (" + outcome + ")";
  }
  return text;
}

/// What the note says of the best answer.
std::string outcome_text(const PlanTry& best) {
  const Degrees degrees = reduced(best.choices.degrees);
  if (!best.fits()) return degrees.expert == 1 && degrees.context == 1 ? "no tensor groups fit" : "no groups fit";
  const std::string end =
      std::string(" are the fastest ") + (best.is_replayed ? "in the replay" : "without contention");
  if (degrees.devices() == 1) return "devices alone" + end;
  if (degrees.devices() == degrees.tensor && degrees.expert == 1) {
    return "tensor groups of " + counted(degrees.tensor, "device") + end;
  }
  return "groups of " + counted(degrees.devices(), "device") + " (" + degrees_text(degrees) + ")" + end;
}

Planning plan_at_fastest_degree(const PlannerInfo& planner, const Inputs& inputs, PlanningChoices choices,
                                const Say& say) {
  std::vector<PlanningChoices> combinations;
  for (const std::int64_t degree : tensor_degrees(inputs.platform, choices.degrees)) {
    choices.degrees.tensor = degree;
    combinations.push_back(choices);
  }
  if (combinations.empty()) {
    throw InputError(
        "no tensor degree makes groups that divide the nodes of platform " + quote(inputs.platform.spec.name),
        {"", 0, 0, "--tensor"}, "the other degrees are " + degrees_text(choices.degrees));
  }
  PlanSearch search = search_plans(
      planner, inputs, combinations,
      {.activity = "looking for the fastest tensor groups", .noun = "sizes of groups", .on_try = {}, .say = say});
  say(fmt::format("note: {}: {}; tried: {}", planner.name, outcome_text(search.tries.front()),
                  tried_text(search.tries)));
  return std::move(search.planning);
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
