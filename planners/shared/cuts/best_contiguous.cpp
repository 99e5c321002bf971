#include "planners/shared/cuts/best_contiguous.hpp"

#include "planners/shared/costs/crossings.hpp"
#include "planners/shared/cuts/cut_search.hpp"
#include "planners/shared/cuts/fewest_stages.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <utility>

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

/// The rule for cuts that can run with a period T. The value of a partition of the layers from l on is V of the cut
/// before l: with U(k, l) the load of the stage [k, l) and C(k) that of the cut before k,
///   V(k) = (V(l) (+) U(k, l)) (+) C(k), where U(k, l) <= T, C(k) <= T,
/// and the stage has as many microbatches in flight as the group of the inner term. The result of (+) and the number in
/// flight both grow with V.
/// **Source** 1F1B* and its (+): MadPipe (Beaumont, Eyraud-Dubois, Shilova 2022); the program over cuts is our own.
struct StarRule {
  using Value = Reach;
  Ticks longest = kUnlimited;  ///< T
  bool takes_later = false;
  static Reach start() { return {}; }
  [[nodiscard]] Reach join(Reach behind, Ticks load) const { return stacked(behind, load, longest); }
  static std::int64_t in_flight(Reach v, std::size_t /*devices*/) { return v.group; }
};

/// The rule for cuts that fit with some period: with a long one, one microbatch in flight is enough on every stage. For
/// graphs with tensors that skip layers; `fewest_stages` knows plain chains only.
struct FitRule {
  using Value = int;
  Ticks longest = kUnlimited;
  bool takes_later = false;
  static int start() { return 0; }
  static int join(int behind, Ticks /*load*/) { return behind; }
  static std::int64_t in_flight(int /*behind*/, std::size_t /*devices*/) { return 1; }
};

/// The cut on the fewest devices that satisfies a rule.
template <class Rule>
std::optional<std::vector<ChainStage>> cut_by(CutSearch<Rule>& search, const Rule& rule) {
  search.run(rule);
  for (std::size_t devices = 1; devices <= search.most_devices(); ++devices) {
    if (search.value(devices)) return search.stages(devices);
  }
  return std::nullopt;
}

/// A cut on the fewest devices that fits with some period, and whether labels were dropped.
struct Fit {
  std::optional<std::vector<ChainStage>> stages;
  bool has_dropped = false;
};
Fit cut_that_fits(const Chain& chain, Bytes capacity) {
  if (is_plain_chain(chain.crossings())) return {fewest_stages(chain, capacity)};
  CutSearch<FitRule> search(chain, capacity);
  std::optional<std::vector<ChainStage>> stages = cut_by(search, FitRule{});
  return {std::move(stages), search.has_dropped()};
}

/// A lower bound of all periods: the load of the largest layer, and all layers divided evenly among the devices.
Ticks least_conceivable(const Chain& chain) {
  const auto devices = static_cast<Ticks>(std::min<std::size_t>(chain.device_count(), chain.size()));
  Ticks least = std::max<Ticks>(1, (chain.load(0, chain.size()) + devices - 1) / devices);
  for (std::size_t l = 0; l < chain.size(); ++l) least = std::max(least, chain.load(l, l + 1));
  return least;
}

}  // namespace

std::optional<ContiguousAnswer> best_contiguous(const Chain& chain, Bytes capacity) {
  auto [stages, has_dropped] = cut_that_fits(chain, capacity);
  if (!stages) return std::nullopt;
  const auto period_of = [&](const std::vector<ChainStage>& found) {
    const std::optional<Ticks> period = least_period(chain, found, capacity);
    STAGECRAFT_CHECK(period.has_value(), "a cut that fits with some period has a least one");
    return *period;
  };
  CutSearch<StarRule> search(chain, capacity);
  Ticks enough = period_of(*stages);
  Ticks lacking = least_conceivable(chain) - 1;
  // The best period lies in (lacking, enough]. Refusing a short period is quicker than accepting a long one, and the
  // best period is rarely far above the lower bound. So the search tries lacking + step with steps that double, but
  // never more than the middle of the interval. An accepted T is replaced by the least period of its cut, which is at
  // most T.
  for (Ticks step = 1; enough - lacking > 1; step = std::max(2 * std::min(step, enough - lacking), lacking / 64)) {
    const Ticks middle = lacking + std::min(step, (enough - lacking) / 2);
    stages = cut_by(search, StarRule{middle});
    if (stages) {
      enough = period_of(*stages);
    } else {
      lacking = middle;
    }
  }
  stages = cut_by(search, StarRule{enough});
  return ContiguousAnswer{*stages, enough, !has_dropped && !search.has_dropped()};
}

std::optional<ContiguousAnswer> best_contiguous(const Chain& chain) { return best_contiguous(chain, chain.capacity()); }

Bytes least_capacity(const Chain& chain) {
  Bytes enough = chain.memory(0, chain.size(), 1, Bytes(0));
  Bytes lacking(-1);
  while (enough - lacking > Bytes(1)) {
    const Bytes middle = lacking + Bytes((enough - lacking).value() / 2);
    (cut_that_fits(chain, middle).stages ? enough : lacking) = middle;
  }
  return enough;
}

std::optional<Ticks> least_period(const Chain& chain, std::span<const ChainStage> stages, Bytes capacity) {
  const std::vector<ChainResource> resources = resources_of(chain, stages);
  const std::vector<Bytes> buffers = stage_buffers(chain, stages);
  return least_star_period(resources, [&](std::span<const std::int64_t> in_flight) {
    for (std::size_t s = 0; s < stages.size(); ++s) {
      if (in_flight[2 * s] > chain.most_in_flight(stages[s].begin, stages[s].end, buffers[s], capacity)) return false;
    }
    return true;
  });
}

}  // namespace stagecraft
