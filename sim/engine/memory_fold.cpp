#include "sim/engine/memory_fold.hpp"

namespace stagecraft {

MemoryFold::MemoryFold(const Platform& platform) : places_(platform.place_count()) {
  for (DeviceId device : indices(platform.devices)) {
    places_[platform.place(device).value()].peak.capacity = platform.capacity(device);
  }
  for (HostId host : indices(platform.hosts)) {
    places_[platform.place(host).value()].peak.capacity = platform.hosts[host].memory;
  }
}

void MemoryFold::change(PlaceState& place, MemoryCategory category, Bytes bytes, Seconds at) {
  place.in_use[static_cast<std::size_t>(category)] += bytes;
  place.total += bytes;
  if (place.total > place.peak.capacity && place.first_overflow == kNever) place.first_overflow = at;
  if (place.total <= place.peak.peak) return;
  place.peak.peak = place.total;
  place.peak.peak_at = at;
  place.peak.breakdown = place.in_use;
}

void MemoryFold::add(const Span& span, std::span<const MemoryDelta> deltas) {
  const Seconds now = span.start + date_noise(span.start);
  for (const MemoryDelta& delta : deltas) {
    PlaceState& place = places_[delta.place.value()];
    while (!place.releases.empty() && place.releases.top().at <= now) {
      const Release release = place.releases.top();
      place.releases.pop();
      change(place, release.category, release.bytes, release.at);
    }
    if (!delta.at_end) {
      change(place, delta.category, delta.bytes, span.start);
      if (span.aborted) place.releases.push({span.end, next_order_++, delta.category, -delta.bytes});
    } else if (!span.aborted) {
      place.releases.push({span.end, next_order_++, delta.category, delta.bytes});
    }
  }
}

}  // namespace stagecraft
