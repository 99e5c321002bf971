#include "planners/shared/costs/ring_time.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/schedule/exchange_rings.hpp"

#include <utility>

namespace stagecraft {

RingTime::RingTime(const Platform& platform, std::vector<DeviceId> devices)
    : platform_(&platform), devices_(std::move(devices)) {
  const auto apart = devices_.size() < 2 ? std::nullopt : smallest_bandwidth_around(platform, devices_).apart;
  if (apart) {
    throw InputError("devices " + quote(platform.devices[apart->first].name) + " and " +
                     quote(platform.devices[apart->second].name) + " of platform " + quote(platform.spec.name) +
                     " are not connected");
  }
  if (!platform.members) return;
  const ExchangeRings rings = exchange_rings(platform, devices_);
  of_members_ = {AllReduceTime(*rings.platform, rings.plain), AllReduceTime(*rings.platform, rings.experts)};
}

Seconds RingTime::operator()(Bytes bytes, double experts) const {
  if (!of_members_) return all_reduce_time(*platform_, {devices_}, bytes);
  const auto all = static_cast<double>(bytes.value());
  return Seconds(of_members_->plain(all * (1.0 - experts)) + of_members_->experts(all * experts));
}

}  // namespace stagecraft
