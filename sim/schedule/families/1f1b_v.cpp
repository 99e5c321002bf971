#include "sim/schedule/fixed/device_order.hpp"
#include "sim/schedule/fixed/placements.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

namespace stagecraft {

extern const ScheduleFamily family_1f1b_v;

namespace {

constexpr std::int64_t kBlock = 6;  ///< slots in which a device runs its work for one microbatch, in steady state

/// The four passes of a microbatch over the devices, in their order.
enum class Pass : std::uint8_t { ForwardDown, ForwardUp, BackwardDown, BackwardUp };
constexpr std::array kPasses = {Pass::ForwardDown, Pass::ForwardUp, Pass::BackwardDown, Pass::BackwardUp};

constexpr bool is_forward(Pass pass) { return pass == Pass::ForwardDown || pass == Pass::ForwardUp; }
/// From the first device to the last.
constexpr bool goes_down(Pass pass) { return pass == Pass::ForwardDown || pass == Pass::BackwardDown; }
constexpr std::int64_t slots_of(Pass pass) { return is_forward(pass) ? 1 : 2; }

struct SlotWork {
  std::int64_t slot = 0;
  std::int64_t device = 0;
  Pass pass = Pass::ForwardDown;
  std::int64_t microbatch = 0;

  /// The last slot. A forward takes memory in it, a backward gives memory back.
  [[nodiscard]] std::int64_t last() const { return slot + slots_of(pass) - 1; }
  [[nodiscard]] std::int64_t change() const { return is_forward(pass) ? 1 : -1; }
};

/// The slots of one device.
class DeviceSlots {
 public:
  explicit DeviceSlots(std::int64_t slots)
      : busy_(static_cast<std::size_t>(slots)), held_(static_cast<std::size_t>(slots)) {}

  void add(const SlotWork& work) {
    set_busy(work, true);
    held_[index(work.last())] += work.change();
  }
  /// After the last `add`: sums up what is in flight. Returns the most of it.
  std::int64_t sum_up() {
    std::partial_sum(held_.begin(), held_.end(), held_.begin());
    return std::ranges::max(held_);
  }

  /// Moves the work to the earliest idle slots from `least` on, if there are any before its own. A forward moves no
  /// further than while fewer than `most` are in flight.
  void advance(SlotWork& work, std::int64_t least, std::int64_t most) {
    std::int64_t to = least;
    if (is_forward(work.pass)) {
      to = work.slot;
      while (to > least && held_[index(to - 1)] < most) --to;
    }
    while (to < work.slot && !is_idle(to, slots_of(work.pass))) ++to;
    if (to >= work.slot) return;
    set_busy(work, false);
    const std::int64_t old = work.last();
    work.slot = to;
    set_busy(work, true);
    for (std::int64_t at = work.last(); at < old; ++at) held_[index(at)] += work.change();
  }

 private:
  static std::size_t index(std::int64_t at) { return static_cast<std::size_t>(at); }
  [[nodiscard]] bool is_idle(std::int64_t at, std::int64_t slots) const {
    return !busy_[index(at)] && !busy_[index(at + slots - 1)];
  }
  void set_busy(const SlotWork& work, bool busy) {
    for (std::int64_t at = work.slot; at <= work.last(); ++at) busy_[index(at)] = busy;
  }

  std::vector<bool> busy_;
  std::vector<std::int64_t> held_;  ///< by slot: microbatches in flight on both stages
};

/// The blocks of all microbatches, one after the other, and then all work as early as memory allows.
class VBlocks {
 public:
  explicit VBlocks(const FixedPipeline& pipeline) : pipeline_(pipeline) {
    place_blocks();
    advance_all();
  }

  [[nodiscard]] FixedOrders orders() {
    std::ranges::sort(all_, {}, &SlotWork::slot);
    std::vector<DeviceOrderWriter> writers(static_cast<std::size_t>(pipeline_.devices));
    for (const SlotWork& work : all_) {
      const bool is_second = work.pass == Pass::ForwardUp || work.pass == Pass::BackwardDown;
      const std::int64_t stage = is_second ? 2 * pipeline_.devices - 1 - work.device : work.device;
      DeviceOrderWriter& writer = writers[static_cast<std::size_t>(work.device)];
      if (is_forward(work.pass)) writer.forward(stage, work.microbatch);
      if (!is_forward(work.pass)) writer.backward(stage, work.microbatch);
    }
    FixedOrders orders;
    for (DeviceOrderWriter& writer : writers) orders.push_back(writer.take());
    return orders;
  }

 private:
  /// The block of the first microbatch: slots without collisions between the blocks of different microbatches.
  void place_blocks() {
    std::int64_t slot = 0;
    std::int64_t backwards = 2 - (pipeline_.devices + 1) % 3;
    for (const Pass pass : kPasses) {
      if (pass == Pass::BackwardDown && pipeline_.devices % 3 == 0) slot += 3;
      for (std::int64_t n = 0; n < pipeline_.devices; ++n) {
        const std::int64_t device = goes_down(pass) ? n : pipeline_.devices - 1 - n;
        for (std::int64_t k = 0; k < pipeline_.microbatches; ++k) all_.push_back({slot + k * kBlock, device, pass, k});
        slot += slots_of(pass);
        if (!is_forward(pass) && ++backwards % 3 == 0) slot += 3;
      }
    }
    end_ = slot + pipeline_.microbatches * kBlock;
    std::ranges::sort(all_, {}, [](const SlotWork& work) { return std::tuple(work.slot, work.device); });
  }

  void advance_all() {
    std::vector<DeviceSlots> devices(static_cast<std::size_t>(pipeline_.devices), DeviceSlots(end_));
    for (const SlotWork& work : all_) devices[static_cast<std::size_t>(work.device)].add(work);
    std::int64_t most = 0;
    for (DeviceSlots& device : devices) most = std::max(most, device.sum_up());
    free_from_.assign(kPasses.size() * static_cast<std::size_t>(pipeline_.devices), {});
    for (SlotWork& work : all_) {
      devices[static_cast<std::size_t>(work.device)].advance(work, least_slot(work), most);
      note(work);
    }
  }

  /// For each pass on each device, what comes after the slots of a microbatch.
  using Ends = std::vector<std::int64_t>;
  [[nodiscard]] Ends& ends(Pass pass, std::int64_t device) {
    return free_from_[static_cast<std::size_t>(pass) * static_cast<std::size_t>(pipeline_.devices) +
                      static_cast<std::size_t>(device)];
  }
  void note(const SlotWork& work) { ends(work.pass, work.device).push_back(work.last() + 1); }

  /// The first slot after what the work needs, and after the same pass of the microbatch before it.
  [[nodiscard]] std::int64_t least_slot(const SlotWork& work) {
    std::int64_t least = 0;
    if (work.microbatch > 0) least = ends(work.pass, work.device).back();
    const std::int64_t turn = goes_down(work.pass) ? 0 : pipeline_.devices - 1;
    const auto microbatch = static_cast<std::size_t>(work.microbatch);
    if (work.device != turn) {
      const std::int64_t before = goes_down(work.pass) ? work.device - 1 : work.device + 1;
      return std::max(least, ends(work.pass, before)[microbatch]);
    }
    if (work.pass == Pass::ForwardDown) return least;
    const Pass before = kPasses[static_cast<std::size_t>(work.pass) - 1];
    return std::max(least, ends(before, work.device)[microbatch]);
  }

  FixedPipeline pipeline_;
  std::int64_t end_ = 0;       ///< slots of all blocks
  std::vector<SlotWork> all_;  ///< by slot, then by device
  std::vector<Ends> free_from_;
};

FixedOrders v_orders(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  return VBlocks(pipeline).orders();
}

}  // namespace

const ScheduleFamily family_1f1b_v{
    .name = "1f1b-v",
    .summary = "1f1b on a V of two stages on each device, with about two thirds of its memory; flushed",
    .source = "Pipeline Parallelism with Controllable Memory (Qi et al., NeurIPS 2024)",
    .synchronous = true,
    .parameters = {},
    .orders = v_orders,
    .placement = wave_placement,
};

}  // namespace stagecraft
