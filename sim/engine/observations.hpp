#pragma once

#include "sim/model/observation.hpp"
#include "sim/model/op_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft {

/// Gathers the observation for an online planner: counts and times since the last observation.
class Observations {
 public:
  explicit Observations(std::size_t devices) { present_.devices.resize(devices); }

  /// A window has announced `count` further stages.
  void add_stages(std::size_t count) { present_.stages.resize(present_.stages.size() + count); }
  /// A forward of the microbatch has started.
  void inject(std::uint32_t microbatch) {
    if (microbatch >= present_.microbatches_injected) present_.microbatches_injected = microbatch + 1;
  }
  /// An operation has taken `seconds`. **Requires** that a window has announced its stage.
  void end(const Op& op, Seconds seconds);
  /// The link has this bandwidth from now on.
  void change(LinkId link, BytesPerSecond bandwidth);
  /// The device has this memory from now on.
  void change(DeviceId device, Bytes memory);
  /// The device fails, or is up again.
  void fail(DeviceId device, Seconds at);
  void recover(DeviceId device);
  /// It is announced that the device will leave.
  void announce(DeviceId device, Seconds leaves_at);
  /// What has been seen since the last call has to be told at once.
  void tell() { has_news_ = true; }
  [[nodiscard]] bool take_news() { return std::exchange(has_news_, false); }
  /// Training goes on with that microbatch, which has been in the pipeline before.
  void go_back(std::uint32_t microbatch) { present_.microbatches_injected = microbatch; }
  /// Returns the observation since the last call, and starts a new one.
  [[nodiscard]] Observation take(Seconds now);

 private:
  Observation present_;
  bool has_news_ = false;
};

}  // namespace stagecraft
