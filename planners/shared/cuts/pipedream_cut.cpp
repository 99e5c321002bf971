#include "planners/shared/cuts/pipedream_cut.hpp"

#include "planners/shared/cuts/best_contiguous.hpp"
#include "planners/shared/cuts/cut_search.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <cstdint>

namespace stagecraft {
namespace {

/// The rule of A(k, n), the least possible largest load of layers [k, L) on n devices:
///   A(k, n) = min over j of max(U(k, j), C(j), A(j, n - 1)) where the stage [k, j) fits with n microbatches in flight,
/// U is the load of a stage and C that of a cut. Of equal cuts the shorter first stage wins, which is found later.
struct ClaimRule {
  using Value = Ticks;
  Ticks longest = 1;
  bool takes_later = true;
  static Ticks start() { return 0; }
  static Ticks join(Ticks behind, Ticks load) { return std::max(behind, load); }
  static std::int64_t in_flight(Ticks /*claim*/, std::size_t devices) { return static_cast<std::int64_t>(devices); }
};

/// The best cut with a claim of at most `longest`.
std::optional<PipedreamCut> cut_within(CutSearch<ClaimRule>& search, Ticks longest) {
  search.run({longest});
  std::optional<PipedreamCut> best;
  for (std::size_t devices = 1; devices <= search.most_devices(); ++devices) {
    const std::optional<Ticks> claim = search.value(devices);
    if (claim && (!best || *claim < best->claimed)) best = {search.stages(devices), *claim, 0};
  }
  return best;
}

}  // namespace

std::optional<PipedreamCut> pipedream_cut(const Chain& chain) {
  Ticks most = chain.load(0, chain.size());
  for (std::size_t k = 1; k < chain.size(); ++k) most = std::max(most, chain.cut_load(k));
  CutSearch<ClaimRule> search(chain, chain.capacity());
  // A low limit keeps stages short, so the search is quick where one is enough.
  std::optional<PipedreamCut> cut;
  for (Ticks longest = std::max<Ticks>(1, chain.load(0, chain.size()) / chain.device_count()); !cut; longest *= 2) {
    cut = cut_within(search, longest);
    if (longest >= most) break;
  }
  if (!cut) return std::nullopt;
  cut->claimed = std::max<Ticks>(1, cut->claimed);
  const std::optional<Ticks> achieved = least_period(chain, cut->stages, chain.capacity());
  STAGECRAFT_CHECK(achieved.has_value(), "one microbatch in flight needs no more than the stage's test allowed");
  cut->achieved = *achieved;
  return cut;
}

}  // namespace stagecraft
