#include "planners/exhaustive/sample.hpp"

#include "planners/exhaustive/space.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>
#include <variant>

namespace stagecraft::exhaustive {
namespace {

constexpr std::int64_t kMostDraws = 1000;

/// Draws plans of a space. The standard's distributions differ between libraries, so only the engine is taken from it.
class Draw {
 public:
  Draw(const Space& space, std::int64_t seed)
      : space_(space), count_(space), random_(static_cast<std::uint64_t>(seed)) {}

  std::vector<Piece> pieces() {
    const std::size_t all = space_.devices();
    const auto stages = 1 + static_cast<std::size_t>(uniform() * static_cast<double>(std::min(space_.layers, all)));
    free_ = all_free(space_.nodes);
    std::size_t devices = pick(space_.use_fewer ? stages : all, all, [&](std::size_t used) {
      return count_.completions(stages, space_.layers, used, free_);
    });
    std::vector<Piece> drawn;
    std::size_t begin = 0;
    for (std::size_t left = stages; left > 0; --left) {
      drawn.push_back(next(begin, left, devices));
      begin = drawn.back().end;
      devices -= drawn.back().devices.size();
    }
    return drawn;
  }

 private:
  [[nodiscard]] double uniform() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }

  /// A number from `first` to `last`, each with a probability in proportion to its weight.
  template <typename Weight>
  std::size_t pick(std::size_t first, std::size_t last, Weight weight) {
    double sum = 0.0;
    for (std::size_t i = first; i <= last; ++i) sum += weight(i);
    double rest = uniform() * sum;
    std::size_t chosen = first;
    for (std::size_t i = first; i <= last; ++i) {
      const double own = weight(i);
      if (own == 0.0) continue;
      chosen = i;
      if (rest < own) break;
      rest -= own;
    }
    return chosen;
  }

  /// The next stage of a plan that has `stages` more, on exactly `devices` devices.
  Piece next(std::size_t begin, std::size_t stages, std::size_t devices) {
    const auto ways = [&](std::size_t end, std::size_t replicas) {
      double sum = 0.0;
      for_each_choice(space_.nodes, free_, replicas, [&](const FreeDevices& after) {
        sum += count_.completions(stages - 1, space_.layers - end, devices - replicas, after);
      });
      return static_cast<double>(space_.ways(replicas)) * sum;
    };
    const std::size_t end = pick(begin + 1, space_.layers, [&](std::size_t last) {
      double sum = 0.0;
      for (std::size_t replicas = 1; replicas <= devices; ++replicas) sum += ways(last, replicas);
      return sum;
    });
    const std::size_t replicas = pick(1, devices, [&](std::size_t count) { return ways(end, count); });
    const bool may_split = replicas > 1 && replicas <= space_.most_split;
    const bool split = may_split && (!space_.round_robin || uniform() < 0.5);
    return {begin, end, choose(replicas, stages - 1, space_.layers - end, devices - replicas), split};
  }

  /// Takes devices for a stage, after which other stages have the rest.
  std::vector<DeviceId> choose(std::size_t replicas, std::size_t stages, std::size_t layers, std::size_t devices) {
    std::vector<FreeDevices> choices;
    for_each_choice(space_.nodes, free_, replicas, [&](const FreeDevices& after) { choices.push_back(after); });
    std::size_t chosen = 0;
    if (choices.size() > 1) {
      chosen = pick(0, choices.size() - 1,
                    [&](std::size_t i) { return count_.completions(stages, layers, devices, choices[i]); });
    }
    const FreeDevices before = std::exchange(free_, choices[chosen]);
    return taken(space_.nodes, before, free_);
  }

  Space space_;
  SpaceCount count_;
  FreeDevices free_;
  std::mt19937_64 random_;
};

bool can_run(const PlanRequest& request, const Plan& plan) {
  if (!check_plan(request.graph, request.platform, plan).empty()) return false;
  const Compilation compiled = compile_schedule(request.graph, request.platform, plan);
  const auto* program = std::get_if<ScheduleProgram>(&compiled);
  return program != nullptr &&
         memory_needed(request.platform, ledger_peaks(request.graph, request.platform, *program)) == Bytes(0);
}

}  // namespace

Sample sample(const PlanRequest& request, const SearchSettings& settings, std::int64_t seed) {
  const std::vector<LayerId> order = canonical_order(request.graph);
  Draw draw(space_of(request, settings), seed);
  Sample result;
  while (result.drawn < kMostDraws) {
    ++result.drawn;
    Plan plan = plan_of(request, {});
    for (const Piece& piece : draw.pieces()) plan.stages.push_back(stage_of(order, piece));
    if (!can_run(request, plan)) continue;
    result.stages = std::move(plan.stages);
    break;
  }
  return result;
}

}  // namespace stagecraft::exhaustive
