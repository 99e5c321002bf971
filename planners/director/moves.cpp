#include "planners/director/moves.hpp"

#include "planners/director/dealing.hpp"
#include "planners/director/node_program.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <set>
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

void move_device(Draft& draft, std::size_t from, std::size_t to, DeviceId device, const StageCosts& costs) {
  std::erase(draft.pieces[from].devices, device);
  draft.pieces[to].devices.push_back(device);
  settle(draft.pieces[from], costs);
  settle(draft.pieces[to], costs);
}

/// Those of the piece that share a node with another one.
std::vector<DeviceId> near(const Piece& piece, const Piece& other, const MoveSpace& space) {
  std::vector<DeviceId> devices;
  for (const std::vector<DeviceId>& node : space.nodes) {
    const auto is_in = [&](DeviceId device) { return std::ranges::binary_search(node, device); };
    if (std::ranges::any_of(other.devices, is_in))
      std::ranges::copy_if(piece.devices, std::back_inserter(devices), is_in);
  }
  return devices;
}

std::vector<DeviceId> idle_devices(const Draft& draft, const MoveSpace& space) {
  const auto has = [](const Piece& piece, DeviceId device) { return std::ranges::count(piece.devices, device) > 0; };
  std::vector<DeviceId> idle;
  for (const std::vector<DeviceId>& node : space.nodes) {
    std::ranges::copy_if(node, std::back_inserter(idle), [&](DeviceId device) {
      return std::ranges::none_of(draft.pieces, [&](const Piece& piece) { return has(piece, device); });
    });
  }
  return idle;
}

/// The first of those that share a node and are equally fast.
std::vector<DeviceId> one_of_each(const std::vector<DeviceId>& devices, const MoveSpace& space) {
  std::set<std::pair<std::size_t, double>> seen;
  std::vector<DeviceId> first;
  for (std::size_t node = 0; node < space.nodes.size(); ++node) {
    for (const DeviceId device : space.nodes[node]) {
      if (std::ranges::count(devices, device) == 0) continue;
      if (seen.emplace(node, space.costs.factor(device)).second) first.push_back(device);
    }
  }
  return first;
}

/// Without one of its devices, with an idle one, and with an idle one in place of one.
void add_with_idle(const Draft& draft, std::size_t piece, const MoveSpace& space, std::vector<Draft>& all) {
  const std::vector<DeviceId> idle = one_of_each(idle_devices(draft, space), space);
  const auto add = [&](std::optional<DeviceId> less, std::optional<DeviceId> more) {
    Draft changed = draft;
    std::vector<DeviceId>& devices = changed.pieces[piece].devices;
    if (less) std::erase(devices, *less);
    if (more) devices.push_back(*more);
    if (devices.empty()) return;
    settle(changed.pieces[piece], space.costs);
    all.push_back(std::move(changed));
  };
  for (const DeviceId device : idle) add({}, device);
  for (const DeviceId own : one_of_each(draft.pieces[piece].devices, space)) {
    add(own, {});
    for (const DeviceId device : idle) add(own, device);
  }
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
    static constexpr std::array kKinds{Kind{22, &Mover::boundary}, Kind{22, &Mover::devices}, Kind{9, &Mover::merge},
                                       Kind{12, &Mover::split},    Kind{9, &Mover::swap},     Kind{9, &Mover::deal},
                                       Kind{7, &Mover::share},     Kind{4, &Mover::schedule}, Kind{6, &Mover::idle}};
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
    constexpr double kFromAnyNode = 0.3;
    const std::size_t to = busy_stage();
    const auto laziest = static_cast<std::size_t>(std::ranges::min_element(loads_) - loads_.begin());
    const std::size_t from = random_.below(2) == 0 ? laziest : random_.below(count());
    if (from == to || draft_.pieces[from].devices.size() < 2) return false;
    std::vector<DeviceId> choice = near(draft_.pieces[from], draft_.pieces[to], space_);
    if (choice.empty() || random_.part() < kFromAnyNode) choice = draft_.pieces[from].devices;
    move_device(draft_, from, to, choice[random_.below(choice.size())], space_.costs);
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

  /// Devices mostly follow the work of both parts, of which each may share its microbatches in another way.
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
    const std::size_t own =
        random_.below(3) == 0 ? 1 + random_.below(devices - 1) : std::clamp<std::size_t>(wanted, 1, devices - 1);
    const auto middle = first.devices.begin() + static_cast<std::ptrdiff_t>(own);
    second.devices.assign(middle, first.devices.end());
    first.devices.erase(middle, first.devices.end());
    if (first.devices.size() == second.devices.size() && random_.below(2) == 0)
      std::swap(first.devices, second.devices);
    const std::size_t sharing = random_.below(4);
    for (Piece* half : {&first, &second}) {
      if (sharing == 0 || (sharing == 1 && random_.below(2) == 0)) half->divides = !half->divides;
      settle(*half, space_.costs);
    }
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

  /// Deals the devices in use, or as many of the fastest, anew: in platform order from one of them on, or backwards,
  /// over nodes in turn, or the largest stages into whole nodes.
  bool deal() {
    const std::size_t way = random_.below(4);
    const std::vector<DeviceId> idle = idle_devices(draft_, space_);
    const std::vector<DeviceId> left = idle.empty() || random_.below(2) == 0 ? idle : slowest(idle.size());
    std::vector<std::vector<DeviceId>> used = space_.nodes;
    for (std::vector<DeviceId>& node : used) {
      std::erase_if(node, [&](DeviceId device) { return std::ranges::count(left, device) > 0; });
    }
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

  /// So many devices, the last ones of those that are equally fast.
  [[nodiscard]] std::vector<DeviceId> slowest(std::size_t count) const {
    std::vector<DeviceId> all;
    for (const std::vector<DeviceId>& node : space_.nodes) all.insert(all.end(), node.begin(), node.end());
    std::ranges::stable_sort(all, {}, [&](DeviceId device) { return space_.costs.factor(device); });
    return {all.end() - static_cast<std::ptrdiff_t>(count), all.end()};
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

  /// Fewer devices, idle ones more, or an idle one in place of one.
  bool idle() {
    Piece& piece = draft_.pieces[busy_stage()];
    const std::size_t way = random_.below(3);
    std::vector<DeviceId> idle = idle_devices(draft_, space_);
    if (way == 0 ? piece.devices.size() < 2 : idle.empty()) return false;
    if (way == 0) {
      take_some(piece.devices, piece.devices.size() - 1);
    } else {
      if (way == 1) take_some(piece.devices, 1);
      const std::vector<DeviceId> more = take_some(idle, way == 1 ? 1 : idle.size());
      piece.devices.insert(piece.devices.end(), more.begin(), more.end());
    }
    settle(piece, space_.costs);
    return true;
  }

  /// Takes one device, or those that share its node, `most` at most.
  std::vector<DeviceId> take_some(std::vector<DeviceId>& devices, std::size_t most) {
    const DeviceId first = devices[random_.below(devices.size())];
    std::vector<DeviceId> some{first};
    if (random_.below(2) == 0) {
      const auto has = [&](const std::vector<DeviceId>& node) { return std::ranges::binary_search(node, first); };
      const std::vector<DeviceId>& node = *std::ranges::find_if(space_.nodes, has);
      for (const DeviceId device : devices) {
        if (some.size() < most && device != first && std::ranges::binary_search(node, device)) some.push_back(device);
      }
    }
    std::erase_if(devices, [&](DeviceId device) { return std::ranges::count(some, device) > 0; });
    return some;
  }

  Draft draft_;
  const MoveSpace& space_;
  Random& random_;
  std::vector<double> loads_;  ///< of the stages before the move
};

}  // namespace

std::optional<Draft> moved(const Draft& draft, const MoveSpace& space, Random& random) {
  std::optional<Draft> changed = Mover(draft, space, random).move();
  if (changed) changed->bucket = space.buckets.front();
  return changed;
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
      if (from == to || draft.pieces[from].devices.size() < 2 || (count > kFew && apart > kNear)) continue;
      for (const DeviceId device : one_of_each(draft.pieces[from].devices, space)) {
        Draft changed = draft;
        move_device(changed, from, to, device, space.costs);
        all.push_back(std::move(changed));
      }
    }
  }
  for (std::size_t piece = 0; piece < count; ++piece) {
    Draft changed = draft;
    changed.pieces[piece].divides = !changed.pieces[piece].divides;
    settle(changed.pieces[piece], space.costs);
    add_if(changed.pieces[piece] != draft.pieces[piece], std::move(changed));
    add_with_idle(draft, piece, space, all);
  }
  for (const ScheduleChoice& schedule : space.schedules) {
    add_if(schedule != draft.schedule, Draft{draft.pieces, schedule, draft.bucket});
  }
  for (const std::optional<Bytes>& bucket : space.buckets) {
    add_if(bucket != draft.bucket, Draft{draft.pieces, draft.schedule, bucket});
  }
  return all;
}

}  // namespace stagecraft::director
