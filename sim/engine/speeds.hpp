#pragma once

#include "sim/model/events.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace stagecraft {

/// How long computations take, given noise and the slowdowns of the devices. If slowdowns change during the run, it
/// keeps the remaining work of each computation under way.
class Speeds {
 public:
  /// `platform` must outlive the speeds.
  Speeds(const Platform& platform, const Events& events);

  void set_slowdown(DeviceId device, double factor) { slowdown_[device.value()] = factor; }
  /// For computations that start from now on.
  void set_noise(const Jitter& noise) { noise_ = noise; }
  /// Likewise. The factors must outlive the speeds.
  void set_work(const MicrobatchWork& work) { work_ = &work.factors; }

  /// When a computation that starts now will end. `further_devices`: those that it occupies besides `what.from`.
  [[nodiscard]] Seconds start(std::uint64_t op, const Op& what, std::span<const DeviceId> further_devices, Seconds now);
  /// When a computation under way will end, now that the slowdown of one of its devices has changed.
  [[nodiscard]] Seconds resume(std::uint64_t op, const Op& what, std::span<const DeviceId> further_devices,
                               Seconds now);
  void end(std::uint64_t op) {
    if (slowdowns_change_) works_.erase(op);
  }

 private:
  /// The remaining work of a running computation.
  struct Work {
    Seconds left;  ///< at nominal speed, at `at`
    Seconds at;
    double slowdown = 1.0;  ///< from `at` on
  };
  [[nodiscard]] Seconds nominal(const Op& what) const;
  [[nodiscard]] double slowdown_of(const Op& what, std::span<const DeviceId> further_devices) const;

  const Platform& platform_;
  std::vector<double> slowdown_;  ///< by DeviceId
  std::optional<Jitter> noise_;
  const std::vector<double>* work_ = nullptr;
  bool slowdowns_change_;
  std::unordered_map<std::uint64_t, Work> works_;  ///< of running computations, if slowdowns change
};

}  // namespace stagecraft
