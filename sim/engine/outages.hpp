#pragma once

#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Devices that are down, and the transfers that wait for their recovery. Failures of one device may overlap.
class Outages {
 public:
  /// `platform` must outlive the outages.
  explicit Outages(const Platform& platform)
      : platform_(platform), failures_(platform.devices.size()), held_(platform.devices.size()) {}

  void begin(DeviceId device);
  /// One of the device's failures is over. Returns whether it is up again.
  bool end(DeviceId device);
  /// A device is down while at least one of its failures lasts.
  [[nodiscard]] bool is_down(DeviceId device) const { return failures_[device.value()] > 0; }

  /// Whether the operation is a transfer from or to a device that is down; then it waits for that device.
  bool hold(std::uint64_t op, const Op& what) { return lasting_ > 0 && hold_there(op, what); }
  /// Returns the operations that have waited for the device, and forgets them.
  [[nodiscard]] std::vector<std::uint64_t> release(DeviceId device);
  /// Forgets all operations that wait.
  void forget_waiting() { held_.assign(held_.size(), {}); }

 private:
  bool hold_there(std::uint64_t op, const Op& what);

  const Platform& platform_;
  std::vector<std::uint32_t> failures_;           ///< by DeviceId: number of failures that last
  std::size_t lasting_ = 0;                       ///< the sum over all devices
  std::vector<std::vector<std::uint64_t>> held_;  ///< by DeviceId: transfers that wait for it
};

}  // namespace stagecraft
