#include "sim/engine/memory_fold.hpp"

namespace stagecraft {

MemoryFold::MemoryFold(const Platform& platform, MemoryCourse* course)
    : places_(platform.place_count()), course_(course) {
  for (std::size_t i = 0; i < places_.size(); ++i) places_[i].id = PlaceId(i);
  for (DeviceId device : indices(platform.devices)) {
    places_[platform.place(device).value()].capacity = platform.capacity(device);
  }
  for (HostId host : indices(platform.hosts)) {
    places_[platform.place(host).value()].capacity = platform.hosts[host].memory;
  }
  for (PlaceState& place : places_) place.peak.capacity = place.capacity;
}

void MemoryFold::change(PlaceState& place, MemoryCategory category, Bytes bytes, Seconds at) {
  place.in_use[static_cast<std::size_t>(category)] += bytes;
  place.total += bytes;
  if (course_ != nullptr) course_->push_back({at, place.id, category, bytes});
  judge(place, at);
}

void MemoryFold::judge(PlaceState& place, Seconds at) {
  if (place.total > place.capacity) {
    if (place.first_overflow == kNever) place.first_overflow = at;
    place.last_overflow = kNever;
  } else if (place.first_overflow != kNever && place.last_overflow == kNever) {
    place.last_overflow = at;
  }
  if (place.total - place.capacity <= place.peak.peak - place.peak.capacity) return;
  place.peak = {.peak = place.total, .peak_at = at, .breakdown = place.in_use, .capacity = place.capacity};
}

void MemoryFold::release_until(PlaceState& place, Seconds now) {
  while (!place.releases.empty() && place.releases.top().at <= now) {
    const Release release = place.releases.top();
    place.releases.pop();
    change(place, release.category, release.bytes, release.at);
  }
}

void MemoryFold::set_capacity(PlaceId id, Bytes capacity, Seconds at) {
  PlaceState& place = places_[id.value()];
  release_until(place, at + date_noise(at));
  place.capacity = capacity;
  judge(place, at);
}

void MemoryFold::clear(Seconds at) {
  for (PlaceState& place : places_) {
    release_until(place, at + date_noise(at));
    place.releases = {};
    for (std::size_t i = 0; i < kMemoryCategories; ++i) {
      if (place.in_use[i] != Bytes(0)) change(place, static_cast<MemoryCategory>(i), -place.in_use[i], at);
    }
    judge(place, at);
  }
}

void MemoryFold::finish() {
  for (PlaceState& place : places_) release_until(place, kNever);
}

void MemoryFold::add(const Span& span, std::span<const MemoryDelta> deltas) {
  const Seconds now = span.start + date_noise(span.start);
  for (const MemoryDelta& delta : deltas) {
    PlaceState& place = places_[delta.place.value()];
    release_until(place, now);
    if (!delta.at_end) {
      change(place, delta.category, delta.bytes, span.start);
      if (span.aborted) place.releases.push({span.end, next_order_++, delta.category, -delta.bytes});
    } else if (!span.aborted) {
      place.releases.push({span.end, next_order_++, delta.category, delta.bytes});
    }
  }
}

}  // namespace stagecraft
