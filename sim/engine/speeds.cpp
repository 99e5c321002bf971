#include "sim/engine/speeds.hpp"

#include "sim/model/noise.hpp"

#include <algorithm>
#include <variant>

namespace stagecraft {

Speeds::Speeds(const Platform& platform, const Events& events)
    : platform_(platform),
      slowdown_(platform.devices.size(), 1.0),
      slowdowns_change_(std::ranges::any_of(
          events, [](const Event& event) { return std::holds_alternative<Slowdown>(event.change); })) {}

/// The slowest of the devices that a computation occupies sets its pace.
double Speeds::slowdown_of(const Op& what, std::span<const DeviceId> further_devices) const {
  if (what.kind == OpKind::Exchange) return 1.0;
  double slowest = slowdown_[what.from.value()];
  for (DeviceId device : further_devices) slowest = std::max(slowest, slowdown_[device.value()]);
  return slowest;
}

/// What a computation takes on a device without a slowdown.
Seconds Speeds::nominal(const Op& what) const {
  Seconds seconds = what.seconds;
  if (noise_ && what.kind != OpKind::Exchange)
    seconds = seconds * noise_factor(*noise_, what, platform_.device(what.from));
  const bool is_of_microbatch = what.kind != OpKind::Update && what.kind != OpKind::Post;
  if (work_ != nullptr && is_of_microbatch) seconds = seconds * (*work_)[what.microbatch % work_->size()];
  return seconds;
}

Seconds Speeds::start(std::uint64_t op, const Op& what, std::span<const DeviceId> further_devices, Seconds now) {
  const double slowdown = slowdown_of(what, further_devices);
  const Seconds work = nominal(what);
  if (slowdowns_change_) works_[op] = {work, now, slowdown};
  return now + work * slowdown;
}

Seconds Speeds::resume(std::uint64_t op, const Op& what, std::span<const DeviceId> further_devices, Seconds now) {
  Work& work = works_.at(op);
  const Seconds left = std::max(Seconds(0), work.left - (now - work.at) / work.slowdown);
  work = {left, now, slowdown_of(what, further_devices)};
  return now + work.left * work.slowdown;
}

}  // namespace stagecraft
