#include "planners/madpipe/pipedream_cut.hpp"

#include "planners/shared/best_contiguous.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft::madpipe {
namespace {

constexpr Ticks kNone = std::numeric_limits<Ticks>::max();

/// CutState (k, n): the least possible largest load of layers [k, L) on n devices, and the end of the first of these
/// stages.
struct CutState {
  Ticks claim = kNone;
  std::size_t end = 0;
};

/// The row A(·, n) from A(·, n - 1), n > 1:
///   A(k, n) = min over j of max(U(k, j), C(j), A(j, n - 1)) where the stage [k, j) fits with n microbatches in flight,
/// U is the load of a stage and C that of a cut. U and the memory of a stage (without the buffers after it) grow with
/// j, so the scan ends as soon as either is too large.
std::vector<CutState> with_one_more(const Chain& chain, const std::vector<CutState>& fewer, std::int64_t n) {
  std::vector<CutState> row(fewer.size());
  for (std::size_t k = 0; k < chain.size(); ++k) {
    for (std::size_t j = k + 1; j < chain.size(); ++j) {
      const Ticks load = chain.load(k, j);
      if (load >= row[k].claim || chain.most_in_flight(k, j, chain.capacity() + chain.buffers(j)) < n) break;
      if (chain.most_in_flight(k, j, chain.capacity()) < n || chain.transfer(j) >= kLongestTransfer) continue;
      const Ticks claim = std::max({load, chain.cut_load(j), fewer[j].claim});
      if (claim < row[k].claim) row[k] = {claim, j};
    }
  }
  return row;
}

std::vector<CutState> on_one_device(const Chain& chain) {
  std::vector<CutState> row(chain.size() + 1);
  for (std::size_t k = 0; k < chain.size(); ++k) {
    if (chain.most_in_flight(k, chain.size(), chain.capacity()) > 0)
      row[k] = {chain.load(k, chain.size()), chain.size()};
  }
  return row;
}

}  // namespace

std::optional<PipedreamCut> pipedream_cut(const Chain& chain) {
  const std::size_t devices = std::min<std::size_t>(chain.device_count(), chain.size());
  std::vector<std::vector<CutState>> table{on_one_device(chain)};  // [n - 1][k]
  std::size_t best = 0;
  for (std::size_t n = 2; n <= devices; ++n) {
    table.push_back(with_one_more(chain, table.back(), static_cast<std::int64_t>(n)));
    if (table[n - 1][0].claim < table[best][0].claim) best = n - 1;
  }
  if (table[best][0].claim == kNone) return std::nullopt;
  PipedreamCut cut{{}, std::max<Ticks>(1, table[best][0].claim), 0};
  for (std::size_t begin = 0, n = best + 1; n-- > 0;) {
    const std::size_t end = table[n][begin].end;
    cut.stages.push_back({begin, end, static_cast<std::uint32_t>(cut.stages.size())});
    begin = end;
  }
  const std::optional<Ticks> achieved = least_period(chain, cut.stages, chain.capacity());
  STAGECRAFT_CHECK(achieved.has_value(), "one microbatch in flight needs no more than the stage's test allowed");
  cut.achieved = *achieved;
  return cut;
}

}  // namespace stagecraft::madpipe
