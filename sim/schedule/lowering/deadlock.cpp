#include "sim/schedule/lowering/deadlock.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::size_t kShownWaits = 4;

/// An action in the order of a device.
struct Position {
  std::size_t device = 0;
  std::size_t index = 0;
};

struct Wait {
  Position at;
  Position needs;  ///< not run yet either
};

bool needs_gradient(ActionKind kind) { return kind == ActionKind::Backward || kind == ActionKind::BackwardInput; }

class Waits {
 public:
  Waits(const LoweringState& state, const Orders& orders) : state_(state), orders_(orders) {}

  /// Goes from the first device that waits to the one that it waits for, and so on, until a device comes again.
  [[nodiscard]] std::vector<Wait> circle() const {
    std::vector<Wait> path;
    std::optional<Position> at = next_of(first_waiting());
    while (at) {
      const auto seen = std::ranges::find(path, at->device, [](const Wait& wait) { return wait.at.device; });
      if (seen != path.end()) return {seen, path.end()};
      const std::optional<Position> needs = needed_by(action(*at));
      if (!needs) return {};
      path.push_back({*at, *needs});
      at = state_.lanes.is_ready(needs->device) ? needs : next_of(needs->device);
    }
    return {};
  }

  [[nodiscard]] std::string name(const Position& position) const {
    const Action& what = action(position);
    return fmt::format("the {} of microbatch {} of stage {}", to_string(what.kind), what.microbatch,
                       what.stage.value());
  }
  [[nodiscard]] std::string device_name(const Position& position) const {
    return state_.shape.platform().devices[state_.lanes.device(position.device)].name;
  }
  [[nodiscard]] StuckAction stuck_at(const Position& position) const {
    return {state_.lanes.device(position.device), action(position)};
  }
  [[nodiscard]] std::optional<Position> next_of(std::size_t device) const {
    if (!orders_.has_left(device)) return std::nullopt;
    return Position{device, orders_.cursor(device)};
  }

 private:
  [[nodiscard]] const Action& action(const Position& position) const {
    return orders_.actions(position.device)[position.index];
  }
  [[nodiscard]] std::size_t first_waiting() const {
    std::size_t device = 0;
    while (device + 1 < state_.lanes.size() && !orders_.has_left(device)) ++device;
    return device;
  }

  /// The first action, not run yet, whose result the waiting one needs: the same microbatch's work on a neighbouring
  /// stage, or the send of its result.
  [[nodiscard]] std::optional<Position> needed_by(const Action& waiting) const {
    const bool backward = needs_gradient(waiting.kind);
    if (!backward && waiting.kind != ActionKind::Forward) return std::nullopt;
    for (const Boundary& boundary : state_.shape.boundaries()) {
      if ((backward ? boundary.from : boundary.to) != waiting.stage) continue;
      const StageId source = backward ? boundary.to : boundary.from;
      const auto found = find([&](const Action& each) {
        const bool computes = backward ? needs_gradient(each.kind) : each.kind == ActionKind::Forward;
        const bool sends = each.kind == (backward ? ActionKind::SendGradient : ActionKind::SendActivation);
        return each.stage == source && each.microbatch == waiting.microbatch && (computes || sends);
      });
      if (found) return found;
    }
    return std::nullopt;
  }

  template <class Predicate>
  [[nodiscard]] std::optional<Position> find(const Predicate& predicate) const {
    for (std::size_t device = 0; device < state_.lanes.size(); ++device) {
      const std::vector<Action>& actions = orders_.actions(device);
      for (std::size_t i = orders_.cursor(device); i < actions.size(); ++i) {
        if (!orders_.is_lowered(device, i) && predicate(actions[i])) return Position{device, i};
      }
    }
    return std::nullopt;
  }

  const LoweringState& state_;
  const Orders& orders_;
};

}  // namespace

Standstill standstill(const LoweringState& state, const Orders& orders) {
  const Waits waits(state, orders);
  Standstill found;
  std::vector<std::string> parts;
  for (const Wait& wait : waits.circle()) {
    parts.push_back(waits.device_name(wait.at) + " at " + waits.name(wait.at) + " waits for " + waits.name(wait.needs) +
                    " on " + waits.device_name(wait.needs));
    found.actions.push_back(waits.stuck_at(wait.at));
  }
  if (parts.empty()) {
    for (std::size_t device = 0; device < state.lanes.size(); ++device) {
      const auto at = waits.next_of(device);
      if (!at) continue;
      parts.push_back(waits.device_name(*at) + " waits at " + waits.name(*at));
      found.actions.push_back(waits.stuck_at(*at));
    }
  }
  for (std::size_t i = 0; i < std::min(parts.size(), kShownWaits); ++i) found.text += (i == 0 ? "" : "; ") + parts[i];
  if (parts.size() > kShownWaits) found.text += "; … (" + std::to_string(parts.size()) + " devices in all)";
  return found;
}

}  // namespace stagecraft
