#include "planners/shared/best_contiguous.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <compare>

namespace stagecraft {
namespace {

/// A period longer than all loads together, so that all resources are in one group.
constexpr Ticks kUnlimited = Ticks{1} << 61;

/// V of 1F1B*: the delay of a resource plus its load. It is kept as (group - 1) · T + load, with load in (0, T], or in
/// [0, T] for group 1. V (+) u is then an addition and a comparison (`stacked`), and the group of a stage is its number
/// of microbatches in flight.
struct Reach {
  std::int64_t group = 1;
  Ticks load = 0;
  friend auto operator<=>(const Reach&, const Reach&) = default;
};

Reach stacked(Reach v, Ticks load, Ticks period) {
  return v.load + load <= period ? Reach{v.group, v.load + load} : Reach{v.group + 1, load};
}

/// State (l, q) of the dynamic program: the least V of the cut before layer l over all partitions of the layers from l
/// on into stages on q devices, and the end of the first of these stages; 0 if there is no such partition.
struct State {
  Reach v;
  std::size_t end = 0;
};

/// Decides whether some contiguous cut can run with a period T, and finds one.
///
/// Dynamic program: best(l, q) is the `State` of layers [l, L) on q devices. With best(L, 0) = 0, U(k, l) the load of
/// the stage [k, l) and C(k) the load of the cut before k,
///   best(k, q + 1) = min over l > k of (best(l, q).V (+) U(k, l)) (+) C(k)
/// where U(k, l) <= T, C(k) <= T, and the stage [k, l) fits with as many microbatches in flight as the group of the
/// inner term. The result of (+) and the number in flight both grow with V, so a smaller V is never worse, and one V
/// per state is enough. States with more devices but no smaller V are never better and are dropped (`find_front`).
///
/// The loop over l goes down from L. When it comes to l, best(l, q) is final for all q, since it depends only on larger
/// l; it is then used to improve best(k, ·) for all k < l. The stages follow the stored ends from best(0, q) of the
/// least q.
/// **Source** 1F1B* and its (+): MadPipe (Beaumont, Eyraud-Dubois, Shilova 2022); the program over cuts is our own.
class Cutter {
 public:
  Cutter(const Chain& chain, Bytes capacity)
      : chain_(chain),
        capacity_(capacity),
        devices_(std::min<std::size_t>(chain.device_count(), chain.size())),
        states_((chain.size() + 1) * (devices_ + 1)) {}

  [[nodiscard]] std::optional<std::vector<ChainStage>> cut(Ticks period) {
    std::ranges::fill(states_, State{});
    const std::size_t layers = chain_.size();
    at(layers, 0).end = layers;
    for (std::size_t l = layers; l > 0; --l) {
      find_front(l, period);
      if (!front_.empty()) extend(l, period);
    }
    for (std::size_t q = 1; q <= devices_; ++q) {
      if (at(0, q).end > 0) return stages(q);
    }
    return std::nullopt;
  }

 private:
  struct Entry {
    Reach v;
    std::size_t devices = 0;
  };

  State& at(std::size_t layer, std::size_t devices) { return states_[layer * (devices_ + 1) + devices]; }

  /// Collects the states of l that may lead to a complete cut: at least one device is left, the devices that are left
  /// can carry the load of the layers before l, and no state with fewer devices has a V as small.
  void find_front(std::size_t l, Ticks period) {
    front_.clear();
    const Ticks before = chain_.load(0, l);
    for (std::size_t q = 0; q < devices_; ++q) {
      if ((before - 1) / period >= static_cast<Ticks>(devices_ - q)) break;
      const State& state = at(l, q);
      if (state.end > 0 && (front_.empty() || state.v < front_.back().v)) front_.push_back({state.v, q});
    }
  }

  /// Extends the states of `find_front` by a stage [k, l), for all k < l. Load and memory of the stage only grow as k
  /// falls, so the loop ends as soon as either is too much.
  void extend(std::size_t l, Ticks period) {
    for (std::size_t k = l; k-- > 0;) {
      const Ticks load = chain_.load(k, l);
      if (load > period || chain_.most_in_flight(k, l, capacity_ + chain_.buffers(k)) == 0)
        return;  // no longer stage can fit either
      if (k > 0 && (chain_.cut_load(k) > period || chain_.transfer(k) >= kLongestTransfer)) continue;
      const std::int64_t most = chain_.most_in_flight(k, l, capacity_);
      for (const Entry& entry : front_) {
        Reach v = stacked(entry.v, load, period);
        if (v.group > most) continue;
        if (k > 0) v = stacked(v, chain_.cut_load(k), period);
        State& state = at(k, entry.devices + 1);
        if (state.end == 0 || v < state.v) state = {v, l};
      }
    }
  }

  std::vector<ChainStage> stages(std::size_t devices) {
    std::vector<ChainStage> result;
    for (std::size_t begin = 0, left = devices; left > 0; --left) {
      const std::size_t end = at(begin, left).end;
      result.push_back({begin, end, static_cast<std::uint32_t>(result.size())});
      begin = end;
    }
    return result;
  }

  const Chain& chain_;
  Bytes capacity_;
  std::size_t devices_;
  std::vector<State> states_;
  std::vector<Entry> front_;  // devices ascending, V strictly descending
};

/// A lower bound of all periods: the load of the largest layer, and all layers divided evenly among the devices.
Ticks least_conceivable(const Chain& chain) {
  const auto devices = static_cast<Ticks>(std::min<std::size_t>(chain.device_count(), chain.size()));
  Ticks least = std::max<Ticks>(1, (chain.load(0, chain.size()) + devices - 1) / devices);
  for (std::size_t l = 0; l < chain.size(); ++l) least = std::max(least, chain.load(l, l + 1));
  return least;
}

}  // namespace

std::optional<ContiguousAnswer> best_contiguous(const Chain& chain, Bytes capacity) {
  Cutter cutter(chain, capacity);
  std::optional<std::vector<ChainStage>> stages = cutter.cut(kUnlimited);
  if (!stages) return std::nullopt;
  const auto period_of = [&](const std::vector<ChainStage>& found) {
    const std::optional<Ticks> period = least_period(chain, found, capacity);
    STAGECRAFT_CHECK(period.has_value(), "a cut that fits with some period has a least one");
    return *period;
  };
  Ticks enough = period_of(*stages);
  Ticks lacking = least_conceivable(chain) - 1;
  // The best period lies in (lacking, enough]. Refusing a short period is quicker than accepting a long one, and the
  // best period is rarely far above the lower bound. So the search tries lacking + step with steps that double, but
  // never more than the middle of the interval. An accepted T is replaced by the least period of its cut, which is at
  // most T.
  for (Ticks step = 1; enough - lacking > 1; step = std::max(2 * std::min(step, enough - lacking), lacking / 64)) {
    const Ticks middle = lacking + std::min(step, (enough - lacking) / 2);
    stages = cutter.cut(middle);
    if (stages) {
      enough = period_of(*stages);
    } else {
      lacking = middle;
    }
  }
  return ContiguousAnswer{*cutter.cut(enough), enough};
}

std::optional<ContiguousAnswer> best_contiguous(const Chain& chain) { return best_contiguous(chain, chain.capacity()); }

Bytes least_capacity(const Chain& chain) {
  Bytes enough = chain.memory(0, chain.size(), 1);
  Bytes lacking(-1);
  while (enough - lacking > Bytes(1)) {
    const Bytes middle = lacking + Bytes((enough - lacking).value() / 2);
    (Cutter(chain, middle).cut(kUnlimited) ? enough : lacking) = middle;
  }
  return enough;
}

std::optional<Ticks> least_period(const Chain& chain, std::span<const ChainStage> stages, Bytes capacity) {
  const std::vector<ChainResource> resources = resources_of(chain, stages);
  return least_star_period(resources, [&](std::span<const std::int64_t> in_flight) {
    for (std::size_t s = 0; s < stages.size(); ++s) {
      if (in_flight[2 * s] > chain.most_in_flight(stages[s].begin, stages[s].end, capacity)) return false;
    }
    return true;
  });
}

}  // namespace stagecraft
