#include "sim/model/time_shares.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace stagecraft {

std::vector<Bottleneck> time_shares(const DeviceReport& device, StageId stage) {
  using Kind = Bottleneck::Kind;
  const TimeSplit& time = device.time;
  const Seconds whole = device.busy + time.exposed_communication + time.all_reduce + time.collective_wait + time.idle;
  std::vector<Bottleneck> shares;
  for (const auto& [kind, part] : {std::pair(Kind::Stage, device.busy - time.exchange),
                                   {Kind::Exchange, time.exchange},
                                   {Kind::Ramps, time.ramps},
                                   {Kind::Waits, time.idle - time.ramps},
                                   {Kind::Transfers, time.exposed_communication},
                                   {Kind::AllReduce, time.all_reduce},
                                   {Kind::AllReduceWait, time.collective_wait}}) {
    if (part <= Seconds(0)) continue;
    shares.push_back({.kind = kind, .device = device.device, .stage = stage, .link = {}, .share = part / whole});
  }
  std::ranges::stable_sort(shares, std::greater<>(), &Bottleneck::share);
  return shares;
}

}  // namespace stagecraft
