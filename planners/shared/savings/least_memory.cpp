#include "planners/shared/savings/least_memory.hpp"

#include "planners/shared/costs/limits.hpp"
#include "planners/shared/savings/memory_policy.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <variant>

namespace stagecraft {
namespace {

bool finds_plan(const PlannerInfo& planner, const PlanRequest& request, const MemorySearch& search, Bytes memory) {
  const Platform platform = with_memory(request.platform, memory);
  const PlanRequest again = on_platform(request, platform);
  return search.finds ? search.finds(again) : std::holds_alternative<Planned>(plan_within_memory(planner, again));
}

/// First part of the search for the least memory: doubles the memory from the search's start until there is a plan.
/// None if there is no plan after kMostDoublings doublings or at kMostMemory.
std::optional<Bytes> enough_memory(const PlannerInfo& planner, const PlanRequest& request, const MemorySearch& search) {
  Bytes memory = search.start;
  for (int doublings = 0; doublings <= kMostDoublings && memory < kMostMemory; ++doublings, memory = memory * 2) {
    if (finds_plan(planner, request, search, memory)) return memory;
  }
  return std::nullopt;
}

/// Second part: bisection between the smallest memory of a device, with which there is no plan, and `enough`, with
/// which there is one. It stops at a step of 1/4096 of that interval, at most 1 MiB. Most often the planner starts the
/// search with the exact least memory, so one byte less than `enough` is tried first. Bisection assumes that more
/// memory never prevents a plan.
Bytes least_memory(const PlannerInfo& planner, const PlanRequest& request, const MemorySearch& search, Bytes enough) {
  constexpr Bytes kMebibyte{std::int64_t{1} << 20};
  constexpr std::int64_t kSteps = 4096;
  if (!finds_plan(planner, request, search, enough - Bytes(1))) return enough;
  Bytes lacking = enough;
  for (DeviceId device : indices(request.platform.devices)) {
    lacking = std::min(lacking, request.platform.memory(device));
  }
  const Bytes step = std::clamp(Bytes((enough - lacking).value() / kSteps), Bytes(1), kMebibyte);
  while (enough - lacking > step) {
    const Bytes middle = lacking + Bytes((enough - lacking).value() / 2);
    (finds_plan(planner, request, search, middle) ? enough : lacking) = middle;
  }
  return enough;
}

}  // namespace

PlanResult plan_explained(const PlannerInfo& planner, const PlanRequest& request) {
  PlanResult result = plan_within_memory(planner, request);
  auto* none = std::get_if<Infeasible>(&result);
  if (none == nullptr || !none->search) return result;
  const MemorySearch search = *none->search;
  if (const std::optional<Bytes> enough = enough_memory(planner, request, search)) {
    none->smallest_memory = least_memory(planner, request, search, *enough);
  }
  return result;
}

Platform with_memory(const Platform& platform, Bytes least) {
  Platform larger = platform;
  for (DeviceKind& kind : larger.spec.device_kinds) kind.memory = std::max(kind.memory, least);
  for (Device& device : larger.devices) {
    if (device.memory) device.memory = std::max(*device.memory, least);
  }
  return larger;
}

Platform with_part_of_memory(const Platform& platform, double part) {
  const auto part_of = [&](Bytes memory) {
    return Bytes(static_cast<std::int64_t>(part * static_cast<double>(memory.value())));
  };
  Platform smaller = platform;
  for (DeviceKind& kind : smaller.spec.device_kinds) kind.memory = part_of(kind.memory);
  for (Device& device : smaller.devices) {
    if (device.memory) device.memory = part_of(*device.memory);
  }
  return smaller;
}

namespace {

PlanRequest changed(const PlanRequest& request, const LayerGraph& graph, const Platform& platform) {
  return {.graph = graph,
          .platform = platform,
          .schedule = request.schedule,
          .microbatches = request.microbatches,
          .training = request.training,
          .options = request.options,
          .samples_per_update = request.samples_per_update,
          .memory = request.memory,
          .judge = request.judge};
}

}  // namespace

PlanRequest on_platform(const PlanRequest& request, const Platform& platform) {
  return changed(request, request.graph, platform);
}

PlanRequest on_graph(const PlanRequest& request, const LayerGraph& graph) {
  return changed(request, graph, request.platform);
}

}  // namespace stagecraft
