#include "sim/analytic/evaluate.hpp"

#include "sim/analytic/heap_clock.hpp"
#include "sim/analytic/one_pass.hpp"
#include "sim/analytic/transfer_cost.hpp"
#include "sim/base/error.hpp"
#include "sim/model/bandwidths.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

const TransferCost::Entry& TransferCost::look_up(std::uint64_t key, const Op& op) {
  STAGECRAFT_CHECK(find_route(platform_, op.from, op.to, op.leg, route_), "a transfer's places are connected");
  if (2 * ++pairs_ > entries_.size()) {
    for (const Entry& known : std::exchange(entries_, std::vector<Entry>(2 * entries_.size()))) {
      if (known.key != kFree) slot(known.key) = known;
    }
  }
  Entry& entry = slot(key);
  entry.key = key;
  entry.latency = route_.latency;
  entry.bandwidth = *narrowest_bandwidth(platform_, route_);
  return entry;
}

bool evaluates_in_start_order(const Platform& platform, const OpSource& source, const Events& events) {
  const bool exclusive =
      std::ranges::any_of(platform.links, [](const Link& link) { return link.sharing == Sharing::Exclusive; });
  const auto is_noise = [](const Event& event) {
    return std::holds_alternative<Jitter>(event.change) && !event.at_microbatch;
  };
  return !source.one_pass || exclusive || !std::ranges::all_of(events, is_noise);
}

void evaluate(const Platform& platform, OpSource source, const Events& events, const RunSink& sink) {
  if (evaluates_in_start_order(platform, source, events)) {
    evaluate_by_events(platform, std::move(source), events, sink);
  } else {
    evaluate_in_one_pass(platform, source, events, sink);
  }
}

}  // namespace stagecraft
