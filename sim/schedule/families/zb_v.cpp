#include "sim/schedule/fixed/device_order.hpp"
#include "sim/schedule/fixed/placements.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <array>

namespace stagecraft {

extern const ScheduleFamily family_zb_v;

namespace {

/// The order of a device, as if there were enough microbatches to fill the V. What belongs to others is left out.
class VOrder {
 public:
  VOrder(const FixedPipeline& pipeline, std::int64_t device)
      : devices_(pipeline.devices), microbatches_(pipeline.microbatches), device_(device) {
    all_ = std::max(microbatches_, 2 * devices_ - 1);
  }

  [[nodiscard]] std::vector<Action> made() {
    repeat(2 * (devices_ - device_) - 1, [&] { add(ActionKind::Forward, kDown); });
    repeat(device_, [&] {
      add(ActionKind::Forward, kUp);
      add(ActionKind::Forward, kDown);
    });
    repeat(devices_ - device_, [&] { pass(kUp); });
    while (has_forwards(kDown) || has_forwards(kUp)) {
      if (has_forwards(kDown)) add(ActionKind::Forward, kDown);
      backward(kDown);
      if (has_forwards(kUp)) pass(kUp);
    }
    repeat(device_, [&] {
      add(ActionKind::BackwardInput, kDown);
      add(ActionKind::BackwardInput, kUp);
    });
    repeat(devices_ - device_, [&] { backward(kDown); });
    for (const std::size_t chunk : {kUp, kDown}) {
      repeat(all_ - next(ActionKind::BackwardWeight, chunk), [&] { add(ActionKind::BackwardWeight, chunk); });
    }
    return std::move(actions_);
  }

 private:
  static constexpr std::size_t kDown = 0;  ///< the chunk from the first device to the last
  static constexpr std::size_t kUp = 1;    ///< and back

  template <class Step>
  static void repeat(std::int64_t times, const Step& step) {
    for (std::int64_t i = 0; i < times; ++i) step();
  }
  [[nodiscard]] std::int64_t& next(ActionKind kind, std::size_t chunk) {
    return next_.at(chunk).at(static_cast<std::size_t>(kind));
  }
  [[nodiscard]] bool has_forwards(std::size_t chunk) { return next(ActionKind::Forward, chunk) < all_; }

  void add(ActionKind kind, std::size_t chunk) {
    const std::int64_t microbatch = next(kind, chunk)++;
    if (microbatch >= microbatches_) return;
    actions_.push_back(action_of(kind, chunk == kDown ? device_ : 2 * devices_ - 1 - device_, microbatch));
  }
  void backward(std::size_t chunk) {
    add(ActionKind::BackwardInput, chunk);
    add(ActionKind::BackwardWeight, chunk);
  }
  void pass(std::size_t chunk) {
    add(ActionKind::Forward, chunk);
    backward(chunk);
  }

  std::int64_t devices_;
  std::int64_t microbatches_;
  std::int64_t device_;
  std::int64_t all_ = 0;
  std::array<std::array<std::int64_t, 4>, 2> next_{};  ///< by chunk and kind: the next microbatch
  std::vector<Action> actions_;
};

FixedOrders zb_v_orders(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  FixedOrders orders;
  for (std::int64_t device = 0; device < pipeline.devices; ++device) {
    orders.push_back(VOrder(pipeline, device).made());
  }
  return orders;
}

}  // namespace

const ScheduleFamily family_zb_v{
    .name = "zb-v",
    .summary = "split backwards on a V of two stages on each device, nearly without a bubble; flushed",
    .source =
        "Zero Bubble Pipeline Parallelism (Qi et al., ICLR 2024) and Pipeline Parallelism with Controllable "
        "Memory (Qi et al., NeurIPS 2024)",
    .synchronous = true,
    .parameters = {},
    .orders = zb_v_orders,
    .placement = wave_placement,
};

}  // namespace stagecraft
