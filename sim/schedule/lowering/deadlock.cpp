#include "sim/schedule/lowering/deadlock.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::size_t kShownWaits = 4;

/// An action of a device: in its order, or at the front of its stream of sends and receives.
struct Position {
  std::size_t device = 0;
  Action action;
  bool in_stream = false;
};

bool is_same_queue(const Position& a, const Position& b) { return a.device == b.device && a.in_stream == b.in_stream; }

struct Wait {
  Position at;
  Position needs;  ///< not run yet either
};

bool needs_gradient(ActionKind kind) { return kind == ActionKind::Backward || kind == ActionKind::BackwardInput; }

class Waits {
 public:
  Waits(const LoweringState& state, const Orders& orders, const Delivery& delivery)
      : state_(state), orders_(orders), delivery_(delivery) {}

  /// Goes from the first device that waits to the one that it waits for, and so on, until a queue comes again.
  [[nodiscard]] std::vector<Wait> circle() const {
    std::vector<Wait> path;
    std::optional<Position> at = first_waiting();
    while (at) {
      const auto seen = std::ranges::find_if(path, [&](const Wait& wait) { return is_same_queue(wait.at, *at); });
      if (seen != path.end()) return {seen, path.end()};
      const std::optional<Position> needs = at->in_stream ? needed_by_mark(at->device) : needed_by(*at);
      if (!needs) return {};
      path.push_back({*at, *needs});
      at = state_.lanes.is_ready(needs->device) ? needs : first_of(needs->device, needs->in_stream);
    }
    return {};
  }

  /// Where the device waits; none if it has run its order.
  [[nodiscard]] std::optional<Position> waiting(std::size_t device) const {
    return first_of(device, delivery_.holds(device));
  }

  [[nodiscard]] static std::string name(const Action& what) {
    return fmt::format("the {} of microbatch {} of stage {}", to_string(what.kind), what.microbatch,
                       what.stage.value());
  }
  [[nodiscard]] std::string device_name(const Position& position) const {
    return state_.shape.platform().devices[state_.lanes.device(position.device)].name;
  }
  [[nodiscard]] StuckAction stuck_at(const Position& position) const {
    return {state_.lanes.device(position.device), position.action};
  }

 private:
  /// The front of the device's stream, or the next action of its order.
  [[nodiscard]] std::optional<Position> first_of(std::size_t device, bool in_stream) const {
    if (in_stream) {
      const std::optional<WaitingMark> mark = delivery_.waiting(device);
      return mark ? std::optional(Position{device, mark->action, true}) : std::nullopt;
    }
    if (!orders_.has_left(device)) return std::nullopt;
    return Position{device, orders_.actions(device)[orders_.cursor(device)]};
  }

  [[nodiscard]] std::optional<Position> first_waiting() const {
    for (std::size_t device = 0; device < state_.lanes.size(); ++device) {
      if (const auto at = waiting(device)) return at;
    }
    return std::nullopt;
  }

  /// The other end of the mark at the front of the device's stream: in the stream there, or not come to yet.
  [[nodiscard]] std::optional<Position> needed_by_mark(std::size_t device) const {
    const std::optional<WaitingMark> mark = delivery_.waiting(device);
    if (!mark) return std::nullopt;
    return Position{mark->other_device, mark->other, mark->is_other_posted || delivery_.holds(mark->other_device)};
  }

  /// The first action, not run yet, whose result the waiting one needs: the same microbatch's work on a neighbouring
  /// stage, the send of its result, or what goes before its receive in the device's stream.
  [[nodiscard]] std::optional<Position> needed_by(const Position& at) const {
    const Action& waiting = at.action;
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
    return first_of(at.device, true);
  }

  template <class Predicate>
  [[nodiscard]] std::optional<Position> find(const Predicate& predicate) const {
    for (std::size_t device = 0; device < state_.lanes.size(); ++device) {
      const std::vector<Action>& actions = orders_.actions(device);
      for (std::size_t i = orders_.cursor(device); i < actions.size(); ++i) {
        if (!orders_.is_lowered(device, i) && predicate(actions[i])) {
          return Position{device, actions[i], delivery_.holds(device)};
        }
      }
    }
    return std::nullopt;
  }

  const LoweringState& state_;
  const Orders& orders_;
  const Delivery& delivery_;
};

}  // namespace

Standstill standstill(const LoweringState& state, const Orders& orders, const Delivery& delivery) {
  const Waits waits(state, orders, delivery);
  Standstill found;
  std::vector<std::string> parts;
  for (const Wait& wait : waits.circle()) {
    parts.push_back(waits.device_name(wait.at) + " at " + Waits::name(wait.at.action) + " waits for " +
                    Waits::name(wait.needs.action) + " on " + waits.device_name(wait.needs));
    found.actions.push_back(waits.stuck_at(wait.at));
  }
  if (parts.empty()) {
    for (std::size_t device = 0; device < state.lanes.size(); ++device) {
      const auto at = waits.waiting(device);
      if (!at) continue;
      parts.push_back(waits.device_name(*at) + " waits at " + Waits::name(at->action));
      found.actions.push_back(waits.stuck_at(*at));
    }
  }
  for (std::size_t i = 0; i < std::min(parts.size(), kShownWaits); ++i) found.text += (i == 0 ? "" : "; ") + parts[i];
  if (parts.size() > kShownWaits) found.text += "; … (" + std::to_string(parts.size()) + " devices in all)";
  return found;
}

}  // namespace stagecraft
