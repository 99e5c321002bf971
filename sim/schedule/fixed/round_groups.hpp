#pragma once

#include "sim/schedule/schedule_family.hpp"

#include <cstdint>

namespace stagecraft {

/// The order in which a device of a pipeline whose stages go round the devices takes its virtual microbatches.
/// Microbatches go in groups: a group goes through the first chunk, then through the next one, and so on. Backwards
/// take the chunks in reverse. The last group may have fewer microbatches.
class RoundGroups {
 public:
  /// **Requires** a `group` of at least 1.
  RoundGroups(const FixedPipeline& pipeline, std::int64_t group) : pipeline_(pipeline), group_(group) {}

  struct Place {
    std::int64_t stage = 0;
    std::int64_t microbatch = 0;
  };
  /// Of the n-th forward of the device, counted from 0, of `all`.
  [[nodiscard]] Place forward(std::int64_t device, std::int64_t n) const { return place(device, n, false); }
  [[nodiscard]] Place backward(std::int64_t device, std::int64_t n) const { return place(device, n, true); }
  /// How many forwards a device has.
  [[nodiscard]] std::int64_t all() const { return pipeline_.chunks * pipeline_.microbatches; }
  /// The forwards with which a device fills its chunks, before those for the devices behind it.
  [[nodiscard]] std::int64_t fill() const { return (pipeline_.chunks - 1) * group_; }

 private:
  [[nodiscard]] Place place(std::int64_t device, std::int64_t n, bool backward) const;

  FixedPipeline pipeline_;
  std::int64_t group_;
};

}  // namespace stagecraft
