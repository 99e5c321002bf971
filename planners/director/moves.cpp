#include "planners/director/moves.hpp"

#include "planners/director/dealing.hpp"
#include "planners/director/node_program.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace stagecraft::director {
namespace {

constexpr std::array<std::ptrdiff_t, 3> kSteps{1, 2, 4};

/// What a stage with one device, or with more than a microbatch has samples, cannot do.
void settle(Piece& piece, const StageCosts& costs) {
  std::ranges::sort(piece.devices);
  if (piece.devices.size() == 1 || piece.devices.size() > costs.most_parts()) piece.divides = false;
}

/// Moves the end of a piece. False if a stage would be empty.
bool move_boundary(Draft& draft, std::size_t piece, std::ptrdiff_t layers) {
  Piece& before = draft.pieces[piece];
  Piece& behind = draft.pieces[piece + 1];
  const std::ptrdiff_t end = static_cast<std::ptrdiff_t>(before.end) + layers;
  if (end <= static_cast<std::ptrdiff_t>(before.begin) || end >= static_cast<std::ptrdiff_t>(behind.end)) return false;
  before.end = behind.begin = static_cast<std::size_t>(end);
  return true;
}

/// Moves one device, if possible one that shares a node with the stage that gets it.
bool move_device(Draft& draft, std::size_t from, std::size_t to, const MoveSpace& space) {
  Piece& giver = draft.pieces[from];
  Piece& taker = draft.pieces[to];
  if (from == to || giver.devices.size() < 2) return false;
  const auto is_near = [&](DeviceId device) {
    return std::ranges::any_of(space.nodes, [&](const std::vector<DeviceId>& node) {
      return std::ranges::binary_search(node, device) &&
             std::ranges::any_of(taker.devices, [&](DeviceId own) { return std::ranges::binary_search(node, own); });
    });
  };
  auto chosen = std::ranges::find_if(giver.devices, is_near);
  if (chosen == giver.devices.end()) --chosen;
  taker.devices.push_back(*chosen);
  giver.devices.erase(chosen);
  settle(giver, space.costs);
  settle(taker, space.costs);
  return true;
}

class Mover {
 public:
  Mover(const Draft& draft, const MoveSpace& space, Random& random) : draft_(draft), space_(space), random_(random) {
    for (const Piece& piece : draft.pieces) loads_.push_back(space.costs.load(piece));
  }

  std::optional<Draft> move() {
    struct Kind {
      std::size_t percent;
      bool (Mover::*change)();
    };
    static constexpr std::array kKinds{Kind{23, &Mover::boundary}, Kind{23, &Mover::devices}, Kind{9, &Mover::merge},
                                       Kind{12, &Mover::split},    Kind{9, &Mover::swap},     Kind{9, &Mover::deal},
                                       Kind{7, &Mover::share},     Kind{4, &Mover::schedule}, Kind{4, &Mover::idle}};
    std::size_t drawn = random_.below(100);
    for (const Kind& kind : kKinds) {
      if (drawn < kind.percent) return (this->*kind.change)() ? std::optional(std::move(draft_)) : std::nullopt;
      drawn -= kind.percent;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::size_t count() const { return draft_.pieces.size(); }

  /// A stage, the longer its load the more often.
  std::size_t busy_stage() {
    constexpr double kByLoad = 0.65;
    if (random_.part() >= kByLoad) return random_.below(count());
    const double largest = *std::ranges::max_element(loads_);
    std::vector<double> sums;
    double sum = 0.0;
    for (const double load : loads_) {
      const double part = load / largest;
      sum += part * part * part * part * part * part;
      sums.push_back(sum);
    }
    const double drawn = random_.part() * sum;
    const auto found = std::ranges::upper_bound(sums, drawn);
    return std::min(static_cast<std::size_t>(found - sums.begin()), count() - 1);
  }

  bool boundary() {
    if (count() < 2) return false;
    const std::size_t stage = busy_stage();
    const bool is_left = stage > 0 && (stage + 1 == count() || random_.below(2) == 0);
    const std::ptrdiff_t step = kSteps[random_.below(kSteps.size())];
    return move_boundary(draft_, is_left ? stage - 1 : stage, random_.below(2) == 0 ? step : -step);
  }

  bool devices() {
    constexpr double kThenDeal = 0.4;
    const std::size_t to = busy_stage();
    const auto laziest = static_cast<std::size_t>(std::ranges::min_element(loads_) - loads_.begin());
    const std::size_t from = random_.below(2) == 0 ? laziest : random_.below(count());
    if (!move_device(draft_, from, to, space_)) return false;
    if (random_.part() < kThenDeal) deal();
    return true;
  }

  bool merge() {
    if (count() < 2) return false;
    const std::size_t first = random_.below(count() - 1);
    Piece& piece = draft_.pieces[first];
    const auto next = draft_.pieces.begin() + static_cast<std::ptrdiff_t>(first) + 1;
    piece.end = next->end;
    piece.divides = piece.divides || next->divides;
    piece.devices.insert(piece.devices.end(), next->devices.begin(), next->devices.end());
    settle(piece, space_.costs);
    draft_.pieces.erase(next);
    return true;
  }

  /// Devices follow the work of both parts.
  bool split() {
    const std::size_t stage = busy_stage();
    Piece first = draft_.pieces[stage];
    const std::size_t devices = first.devices.size();
    if (devices < 2 || first.end - first.begin < 2) return false;
    Piece second = first;
    first.end = second.begin = first.begin + 1 + random_.below(first.end - first.begin - 1);
    const auto work = [&](const Piece& piece) { return space_.costs.forward(piece.begin, piece.end, 1, false); };
    const double part = work(first) / std::max(work(first) + work(second), 1e-30);
    const auto wanted = static_cast<std::size_t>(std::lround(part * static_cast<double>(devices)));
    const std::size_t own = std::clamp<std::size_t>(wanted, 1, devices - 1);
    const auto middle = first.devices.begin() + static_cast<std::ptrdiff_t>(own);
    second.devices.assign(middle, first.devices.end());
    first.devices.erase(middle, first.devices.end());
    settle(first, space_.costs);
    settle(second, space_.costs);
    draft_.pieces[stage] = std::move(first);
    draft_.pieces.insert(draft_.pieces.begin() + static_cast<std::ptrdiff_t>(stage) + 1, std::move(second));
    return true;
  }

  bool swap() {
    if (count() < 2) return false;
    const std::size_t a = busy_stage();
    const std::size_t b = (a + 1 + random_.below(count() - 1)) % count();
    Piece& one = draft_.pieces[a];
    Piece& other = draft_.pieces[b];
    if (random_.below(2) == 0) {
      std::swap(one.devices, other.devices);
    } else {
      std::swap(one.devices[random_.below(one.devices.size())], other.devices[random_.below(other.devices.size())]);
    }
    settle(one, space_.costs);
    settle(other, space_.costs);
    return true;
  }

  /// Deals the devices in use anew: in platform order from one of them on, or backwards, over nodes in turn, or the
  /// largest stages into whole nodes.
  bool deal() {
    const std::size_t way = random_.below(4);
    std::vector<std::vector<DeviceId>> used = space_.nodes;
    for (std::vector<DeviceId>& node : used) std::erase_if(node, [&](DeviceId device) { return !is_used(device); });
    if (way == 3) return deal_into_nodes(used);
    std::vector<DeviceId> order;
    if (way == 2) {
      order = in_turn(used);
    } else {
      for (const std::vector<DeviceId>& node : used) order.insert(order.end(), node.begin(), node.end());
      if (way == 1) std::ranges::reverse(order);
    }
    std::ranges::rotate(order, order.begin() + static_cast<std::ptrdiff_t>(random_.below(order.size())));
    auto next = order.begin();
    for (Piece& piece : draft_.pieces) {
      const auto end = next + std::ssize(piece.devices);
      piece.devices.assign(next, end);
      next = end;
      settle(piece, space_.costs);
    }
    return true;
  }

  [[nodiscard]] bool is_used(DeviceId device) const {
    return std::ranges::any_of(draft_.pieces,
                               [&](const Piece& piece) { return std::ranges::count(piece.devices, device) > 0; });
  }

  static std::vector<DeviceId> in_turn(const std::vector<std::vector<DeviceId>>& nodes) {
    std::vector<DeviceId> order;
    const std::size_t most = std::ranges::max_element(nodes, {}, &std::vector<DeviceId>::size)->size();
    for (std::size_t row = 0; row < most; ++row) {
      for (const std::vector<DeviceId>& node : nodes) {
        if (row < node.size()) order.push_back(node[row]);
      }
    }
    return order;
  }

  bool deal_into_nodes(const std::vector<std::vector<DeviceId>>& nodes) {
    std::vector<NodeStage> stages;
    for (const Piece& piece : draft_.pieces) {
      stages.push_back({piece.begin, piece.end, piece.devices.size(), piece.divides, NodeStage::Place::Begins});
    }
    draft_.pieces = dealt(nodes, stages);
    return true;
  }

  bool share() {
    Piece& piece = draft_.pieces[busy_stage()];
    piece.divides = !piece.divides;
    settle(piece, space_.costs);
    return piece.devices.size() > 1;
  }

  bool schedule() {
    if (space_.schedules.size() < 2) return false;
    draft_.schedule = space_.schedules[random_.below(space_.schedules.size())];
    return true;
  }

  bool idle() {
    Piece& piece = draft_.pieces[busy_stage()];
    if (random_.below(2) == 0) {
      if (piece.devices.size() < 2) return false;
      piece.devices.erase(piece.devices.begin() + static_cast<std::ptrdiff_t>(random_.below(piece.devices.size())));
    } else {
      std::vector<DeviceId> idle;
      for (const std::vector<DeviceId>& node : space_.nodes) {
        std::ranges::copy_if(node, std::back_inserter(idle), [&](DeviceId device) { return !is_used(device); });
      }
      if (idle.empty()) return false;
      piece.devices.push_back(idle[random_.below(idle.size())]);
    }
    settle(piece, space_.costs);
    return true;
  }

  Draft draft_;
  const MoveSpace& space_;
  Random& random_;
  std::vector<double> loads_;  ///< of the stages before the move
};

}  // namespace

std::optional<Draft> moved(const Draft& draft, const MoveSpace& space, Random& random) {
  return Mover(draft, space, random).move();
}

std::vector<Draft> neighbours(const Draft& draft, const MoveSpace& space) {
  constexpr std::size_t kFew = 8;
  constexpr std::size_t kNear = 2;
  std::vector<Draft> all;
  const auto add_if = [&](bool is_valid, Draft&& changed) {
    if (is_valid) all.push_back(std::move(changed));
  };
  const std::size_t count = draft.pieces.size();
  for (std::size_t piece = 0; piece + 1 < count; ++piece) {
    for (const std::ptrdiff_t step : kSteps) {
      for (const std::ptrdiff_t layers : {step, -step}) {
        Draft changed = draft;
        add_if(move_boundary(changed, piece, layers), std::move(changed));
      }
    }
  }
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = 0; to < count; ++to) {
      const std::size_t apart = from > to ? from - to : to - from;
      if (count > kFew && apart > kNear) continue;
      Draft changed = draft;
      add_if(move_device(changed, from, to, space), std::move(changed));
    }
  }
  for (std::size_t piece = 0; piece < count; ++piece) {
    Draft changed = draft;
    changed.pieces[piece].divides = !changed.pieces[piece].divides;
    settle(changed.pieces[piece], space.costs);
    add_if(changed.pieces[piece] != draft.pieces[piece], std::move(changed));
  }
  for (const ScheduleChoice& schedule : space.schedules) {
    add_if(schedule != draft.schedule, Draft{draft.pieces, schedule});
  }
  return all;
}

}  // namespace stagecraft::director
