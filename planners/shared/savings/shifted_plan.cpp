#include "planners/shared/savings/shifted_plan.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "planners/shared/costs/pipeline_claim.hpp"
#include "planners/shared/cuts/shifted_layers.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

/// What a shift has to leave of the time if it may let the fullest device take more memory.
constexpr double kWorthMemory = 0.997;

enum class Memory { More, NoMore };

Bytes most_memory(const Plan& plan) {
  Bytes most;
  for (const auto& [device, peak] : plan.predicted.peak_memory) most = std::max(most, peak);
  return most;
}

/// The plan with these stages, if it is worth more than the best one.
std::optional<Planned> better(const PlanRequest& request, const Planned& best, const std::vector<Stage>& stages,
                              Memory memory) {
  Plan other = best.plan;
  other.stages = stages;
  other.predicted = evaluated_claim(request, other);
  const double worth = memory == Memory::More ? kWorthMemory : 1.0;
  if (claimed_time(other) >= claimed_time(best.plan) * worth) return std::nullopt;
  PlanResult result = judged(request, {std::move(other), best.details, best.notes});
  auto* planned = std::get_if<Planned>(&result);
  if (planned == nullptr) return std::nullopt;
  if (memory == Memory::NoMore && most_memory(planned->plan) > most_memory(best.plan)) return std::nullopt;
  return std::move(*planned);
}

}  // namespace

void recompute_stages(std::vector<Stage>& stages, const std::string& recompute) {
  if (recompute == "none") return;
  for (Stage& stage : stages) {
    stage.memory.clear();
    if (recompute == "stage") {
      stage.memory = {Recompute{stage.layers}};
      continue;
    }
    for (const LayerId layer : stage.layers) stage.memory.emplace_back(Recompute{{layer}});
  }
}

Planned shifted_plan(const PlanRequest& request, Planned best, const std::string& recompute) {
  for (const Memory memory : {Memory::More, Memory::NoMore}) {
    shift_layers(request.graph, Plan(best.plan), [&](std::vector<Stage> stages) {
      recompute_stages(stages, recompute);
      try {
        std::optional<Planned> other = better(request, best, stages, memory);
        if (!other) return false;
        best = *std::move(other);
        return true;
      } catch (const InputError&) {
        return false;  // neighbours are not connected
      }
    });
  }
  return best;
}

}  // namespace stagecraft
