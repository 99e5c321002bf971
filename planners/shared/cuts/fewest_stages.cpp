#include "planners/shared/cuts/fewest_stages.hpp"

#include "planners/shared/costs/crossings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace stagecraft {
namespace {

/// The bytes of the tensor that crosses a cut.
Bytes cut_bytes(const Chain& chain, std::size_t cut) {
  const bool is_end = cut == 0 || cut == chain.size();
  return is_end ? Bytes(0) : chain.crossings().uses_of(cut - 1).front().bytes;
}

bool fits(const Chain& chain, std::size_t begin, std::size_t end, Bytes exchanged, Bytes capacity) {
  return chain.most_in_flight(begin, end, chain.buffers(exchanged), capacity) > 0;
}

/// The last end of a stage that fits if it sends nothing; `begin` if there is none.
std::size_t last_end(const Chain& chain, std::size_t begin, Bytes capacity) {
  std::size_t fitting = begin;
  for (std::size_t beyond = chain.size() + 1; fitting + 1 < beyond;) {
    const std::size_t middle = fitting + (beyond - fitting) / 2;
    (fits(chain, begin, middle, cut_bytes(chain, begin), capacity) ? fitting : beyond) = middle;
  }
  return fitting;
}

/// The last of the ends, which decrease, with which a stage fits; `begin` if there is none.
std::size_t best_end(const Chain& chain, std::size_t begin, std::size_t last, const std::vector<std::size_t>& ends,
                     Bytes capacity) {
  if (ends.empty() || ends.back() > last) return begin;
  for (auto end = std::ranges::lower_bound(ends, last, std::greater<>()); end != ends.end(); ++end) {
    if (fits(chain, begin, *end, cut_bytes(chain, begin) + cut_bytes(chain, *end), capacity)) return *end;
  }
  return begin;
}

}  // namespace

std::optional<std::vector<ChainStage>> fewest_stages(const Chain& chain, Bytes capacity) {
  const std::size_t devices = std::min<std::size_t>(chain.device_count(), chain.size());
  std::vector<std::vector<std::size_t>> begins(devices + 1);  // decreasing, of what runs on so many stages at least
  std::vector<std::size_t> ends(chain.size());                // of the stage from each layer on
  begins[0] = {chain.size()};
  for (std::size_t k = chain.size(); k-- > 0;) {
    ends[k] = k;
    if (chain.transfer(k) >= kLongestTransfer) continue;
    const std::size_t last = last_end(chain, k, capacity);
    for (std::size_t behind = 0; behind < devices && ends[k] == k; ++behind) {
      ends[k] = best_end(chain, k, last, begins[behind], capacity);
      if (ends[k] != k) begins[behind + 1].push_back(k);
    }
  }
  if (ends[0] == 0) return std::nullopt;
  std::vector<ChainStage> stages;
  for (std::size_t k = 0; k < chain.size(); k = ends[k]) {
    stages.push_back({k, ends[k], static_cast<std::uint32_t>(stages.size())});
  }
  return stages;
}

}  // namespace stagecraft
