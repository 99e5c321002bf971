#include "sim/schedule/fixed/device_order.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>

namespace stagecraft {

extern const ScheduleFamily family_zb_h2;

namespace {

/// A run of all devices in slots, one for each forward, input half and weight half. An operation sees what others have
/// done in earlier slots.
class SlotRun {
 public:
  explicit SlotRun(const FixedPipeline& pipeline) : all_(pipeline.microbatches) {
    for (std::int64_t device = 0; device < pipeline.devices; ++device) {
      workers_.push_back({device, std::min(all_, 2 * (pipeline.devices - device) - 1)});
    }
    most_in_flight_ = 2 * pipeline.devices;
  }

  [[nodiscard]] FixedOrders orders() {
    while (std::ranges::any_of(workers_, [&](const Worker& worker) { return worker.weights < all_; })) step();
    FixedOrders orders;
    for (Worker& worker : workers_) orders.push_back(worker.order.take());
    return orders;
  }

 private:
  enum class Work : std::uint8_t { Nothing, Forward, Input, Weight };

  struct Worker {
    std::int64_t device = 0;
    std::int64_t warm = 0;  ///< forwards before its first input half
    std::int64_t forwards = 0;
    std::int64_t inputs = 0;
    std::int64_t weights = 0;
    Work last = Work::Input;  ///< of forwards and input halves
    DeviceOrderWriter order = {};
  };

  [[nodiscard]] bool can_forward(std::size_t at) const {
    const Worker& own = workers_[at];
    const bool arrived = at == 0 || own.forwards < workers_[at - 1].forwards;
    return own.forwards < all_ && own.forwards - own.weights < most_in_flight_ && arrived;
  }
  [[nodiscard]] bool can_input(std::size_t at) const {
    const Worker& own = workers_[at];
    const bool arrived = at + 1 == workers_.size() || own.inputs < workers_[at + 1].inputs;
    return own.inputs < own.forwards && arrived;
  }

  [[nodiscard]] Work choice(std::size_t at) const {
    const Worker& own = workers_[at];
    const bool has_pending = own.weights < own.inputs;
    if (own.forwards < own.warm) return can_forward(at) ? Work::Forward : Work::Nothing;
    const bool waits_for_nobody = at == 0 && own.forwards == all_;
    if (waits_for_nobody && has_pending) return Work::Weight;
    if (own.last == Work::Input && can_forward(at)) return Work::Forward;
    if (can_input(at)) return Work::Input;
    return has_pending ? Work::Weight : Work::Nothing;
  }

  void step() {
    std::vector<Work> chosen;
    for (std::size_t at = 0; at < workers_.size(); ++at) chosen.push_back(choice(at));
    for (std::size_t at = 0; at < workers_.size(); ++at) run(workers_[at], chosen[at]);
  }

  static void run(Worker& worker, Work work) {
    if (work == Work::Forward) worker.order.forward(worker.device, worker.forwards++);
    if (work == Work::Input) worker.order.input(worker.device, worker.inputs++);
    if (work == Work::Weight) {
      worker.order.oldest_weight();
      ++worker.weights;
      return;
    }
    if (work != Work::Nothing) worker.last = work;
  }

  std::int64_t all_;
  std::int64_t most_in_flight_ = 0;
  std::vector<Worker> workers_;
};

FixedOrders zb_h2_orders(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  return SlotRun(pipeline).orders();
}

}  // namespace

const ScheduleFamily family_zb_h2{
    .name = "zb-h2",
    .summary = "split backwards with twice the memory of 1f1b, which fills the bubble between forwards; flushed",
    .source = "Zero Bubble Pipeline Parallelism (Qi et al., ICLR 2024)",
    .synchronous = true,
    .parameters = {},
    .orders = zb_h2_orders,
};

}  // namespace stagecraft
