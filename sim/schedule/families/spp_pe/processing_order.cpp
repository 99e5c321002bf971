#include "sim/schedule/families/spp_pe/processing_order.hpp"

#include "sim/schedule/families/spp_pe/processing_rounds.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft {

std::vector<std::int64_t> in_flight_caps(const std::vector<std::int64_t>& alternating, InFlightCap cap,
                                         const std::vector<std::int64_t>& own) {
  std::vector<std::int64_t> caps(alternating.size(), std::numeric_limits<std::int64_t>::max());
  std::int64_t ranks = 0;  // alternating replicas of this stage and of all stages after it
  for (std::size_t s = alternating.size(); s-- > 0;) {
    ranks += alternating[s];
    const std::int64_t others = ranks - 1;
    if (cap == InFlightCap::OneForwardOneBackward) caps[s] = others / alternating[s] + 1;
    if (cap == InFlightCap::Double) caps[s] = 2 * others / alternating[s] + 1;
    if (!own.empty()) caps[s] = std::min(caps[s], own[s]);
  }
  return caps;
}

ProcessingChain processing_chain(const std::vector<std::int64_t>& alternating, const ProcessingSettings& settings,
                                 const std::vector<std::int64_t>& caps) {
  ProcessingChain chain;
  chain.caps = in_flight_caps(alternating, settings.cap, caps);
  const auto add = [&] { return static_cast<std::uint32_t>(chain.resources++); };
  for (std::size_t s = 0; s < alternating.size(); ++s) {
    if (s > 0) {
      const std::uint32_t forward = add();
      chain.cuts.push_back({forward, settings.full_duplex ? add() : forward});
    }
    auto& slots = chain.stages.emplace_back();
    for (std::int64_t r = 0; r < alternating[s]; ++r) {
      const std::uint32_t resource = add();
      slots.push_back({resource, resource});
    }
  }
  return chain;
}

ProcessingOrder order_blocks(const ProcessingChain& chain, std::int64_t microbatches) {
  ProcessingOrder order;
  order.lists.resize(chain.resources);
  ProcessingRounds rounds(chain, microbatches);
  for (auto popped = rounds.next(); !popped.empty(); popped = rounds.next()) {
    for (const auto& [resource, block] : popped) order.lists[resource].push_back(block);
  }
  order.rounds = rounds.rounds();
  order.peaks = rounds.peaks();
  return order;
}

}  // namespace stagecraft
