#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/training.hpp"

#include <cstdint>

namespace stagecraft {

/// What the replicas of a stage exchange for an update: they all-reduce its gradients. Where they divide the
/// optimizer's state (`Training::zero`), they reduce-scatter these and all-gather its weights, which take half of an
/// all-reduce each.
struct UpdateExchange {
  std::int64_t gradients = 1;  ///< bytes of gradients for each byte of weights
  bool is_divided = false;
  bool is_each_time = false;  ///< gradients are divided, too: they are summed up after every microbatch
  bool is_each_pass = false;  ///< weights are divided, too: they are gathered for every pass, and after no update

  /// The time to sum up so many bytes of gradients. `all_reduce`: that of an all-reduce of so many bytes.
  template <class AllReduce>
  [[nodiscard]] auto summed(Bytes bytes, const AllReduce& all_reduce) const {
    return all_reduce(bytes) * (is_divided ? 0.5 : 1.0);
  }
  /// The time to sum up the gradients of these weights.
  template <class AllReduce>
  [[nodiscard]] auto reduced(Bytes weights, const AllReduce& all_reduce) const {
    return summed(weights * gradients, all_reduce);
  }
  /// The time to gather the weights once.
  template <class AllReduce>
  [[nodiscard]] auto gathered(Bytes weights, const AllReduce& all_reduce) const {
    using Time = decltype(all_reduce(weights) * 0.5);
    return is_divided ? all_reduce(weights) * 0.5 : Time{};
  }
  /// The time to gather them after an update.
  template <class AllReduce>
  [[nodiscard]] auto gathered_after(Bytes weights, const AllReduce& all_reduce) const {
    using Time = decltype(all_reduce(weights) * 0.5);
    return is_each_pass ? Time{} : gathered(weights, all_reduce);
  }
  /// The time of what is exchanged for every microbatch, one after the other.
  template <class AllReduce>
  [[nodiscard]] auto each_time(Bytes weights, const AllReduce& all_reduce) const {
    using Time = decltype(all_reduce(weights) * 0.5);
    if (!is_each_time) return Time{};
    const Time sum = reduced(weights, all_reduce);
    return is_each_pass ? sum + gathered(weights, all_reduce) * 2.0 : sum;
  }
  /// The bytes of an all-reduce, without latencies as long as one exchange of gradients and the gathers that belong to
  /// it, for each byte of weights.
  [[nodiscard]] double copies() const {
    const auto summed = static_cast<double>(gradients);
    return is_divided ? (summed + (is_each_pass ? 2.0 : 1.0)) / 2.0 : summed;
  }
};

[[nodiscard]] UpdateExchange update_exchange(const Training& training);

}  // namespace stagecraft
