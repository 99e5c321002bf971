#include "sim/engine/observations.hpp"

#include "sim/base/error.hpp"

#include <algorithm>

namespace stagecraft {

void Observations::end(const Op& op, Seconds seconds) {
  if (!is_compute(op.kind)) return;
  DeviceObservation& device = present_.devices[DeviceId(op.from.value())];
  device.nominal += op.seconds;
  device.measured += seconds;
  if (op.stage.is_none()) return;
  STAGECRAFT_CHECK(present_.stages.contains(op.stage), "a window has announced the stage");
  StageObservation& stage = present_.stages[op.stage];
  switch (op.kind) {
    case OpKind::Forward:
      ++stage.forwards;
      stage.forward_time += seconds;
      break;
    case OpKind::Backward:
    case OpKind::BackwardInput:
    case OpKind::BackwardWeight:
    case OpKind::Recompute:
    case OpKind::Exchange:  // that of a forward counts with the backwards
      if (op.closes) ++stage.backwards;
      stage.backward_time += seconds;
      break;
    case OpKind::ForwardBackward:
      ++stage.forwards;
      ++stage.backwards;
      ++stage.pairs;
      stage.pair_time += seconds;
      break;
    default: break;
  }
}

void Observations::change(LinkId link, BytesPerSecond bandwidth) {
  const auto known = std::ranges::find(present_.links, link, &LinkObservation::link);
  if (known == present_.links.end()) {
    present_.links.push_back({link, bandwidth});
  } else {
    known->bandwidth = bandwidth;
  }
}

void Observations::change(DeviceId device, Bytes memory) {
  const auto known = std::ranges::find(present_.memories, device, &MemoryObservation::device);
  if (known == present_.memories.end()) {
    present_.memories.push_back({device, memory});
  } else {
    known->memory = memory;
  }
}

void Observations::fail(DeviceId device, Seconds at) {
  has_news_ = true;
  if (std::ranges::count(present_.down, device, &DownObservation::device) == 0) present_.down.push_back({device, at});
}

void Observations::recover(DeviceId device) {
  has_news_ = true;
  std::erase_if(present_.down, [device](const DownObservation& down) { return down.device == device; });
}

void Observations::announce(DeviceId device, Seconds leaves_at) {
  has_news_ = true;
  const auto known = std::ranges::find(present_.leaving, device, &LeavingObservation::device);
  if (known == present_.leaving.end()) {
    present_.leaving.push_back({device, leaves_at});
  } else {
    known->at = std::min(known->at, leaves_at);
  }
}

Observation Observations::take(Seconds now) {
  Observation seen = present_;
  seen.now = now;
  present_.stages.assign(present_.stages.size(), {});
  present_.devices.assign(present_.devices.size(), {});
  return seen;
}

}  // namespace stagecraft
