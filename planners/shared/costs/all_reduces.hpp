#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/all_reduce.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace stagecraft {

/// What all-reduces of any size among the same members take, without latencies.
class AllReduceTime {
 public:
  /// A member alone, which exchanges nothing.
  AllReduceTime() = default;
  explicit AllReduceTime(double seconds_per_byte, double seconds_each = 0.0)
      : per_byte_(seconds_per_byte), each_(seconds_each) {}
  /// `all_reduce_time` of many bytes, for which the platform's `collectives` choose what is faster without latencies.
  /// With a table of measured bandwidths, the table's time of the size, or of a smaller size that takes longer: the
  /// time never shrinks as the bytes grow.
  /// **Requires** rings of equally many members of which every two are connected, and a platform that outlives this if
  /// it has a table.
  AllReduceTime(const Platform& platform, const MemberRings& rings);

  /// The seconds of so many all-reduces one after the other, each of an equal part of the bytes; 0 for no bytes.
  /// **Requires** at least one of them. **Cost** O(1), of a table O(rows · log rows).
  [[nodiscard]] double operator()(double bytes, std::size_t all_reduces = 1) const {
    if (bytes <= 0.0) return 0.0;
    if (table_of_ != nullptr) return tabulated(bytes, all_reduces);
    return per_byte_ * bytes + each_ * static_cast<double>(all_reduces);
  }
  /// Both one after the other, with that part of the bytes in the second one. **Requires** two without a table.
  [[nodiscard]] AllReduceTime with(const AllReduceTime& other, double part) const {
    return AllReduceTime(per_byte_ * (1.0 - part) + other.per_byte_ * part, each_ + other.each_);
  }

 private:
  [[nodiscard]] double tabulated(double bytes, std::size_t all_reduces) const;

  double per_byte_ = 0.0;
  double each_ = 0.0;  ///< of an all-reduce, whatever its bytes are
  std::size_t members_ = 0;
  const Platform* table_of_ = nullptr;  ///< only if it has a table
};

/// The all-reduces of sets of devices of a platform, as they are run. Sets that differ only in nodes which are alike
/// have the same ones, and these are computed once.
class AllReduces {
 public:
  /// **Requires** a platform of which every two devices are connected, and that outlives this.
  /// `experts`: the part of what is exchanged that is parameters of experts.
  explicit AllReduces(const Platform& platform, double experts = 0.0);

  /// Those among the members, whose order is that of the ring. They stay where they are. Where they stand for groups,
  /// experts have rings of their own, unless there is a table.
  /// **Cost** O(members · levels of a fat tree) if they are known, else that of `all_reduce_time`.
  [[nodiscard]] const AllReduceTime& among(const std::vector<DeviceId>& members);
  /// How many have been computed.
  [[nodiscard]] std::size_t size() const { return known_.size(); }

 private:
  using Likeness = std::vector<std::uint32_t>;
  [[nodiscard]] Likeness likeness(const std::vector<DeviceId>& members) const;

  const Platform* platform_;
  double experts_;
  std::vector<std::uint64_t> groups_;  ///< nodes of the switches of a fat tree, level by level from below
  bool are_nodes_alike_ = false;       ///< those of one kind, as far as the network goes
  std::map<Likeness, AllReduceTime> known_;
};

}  // namespace stagecraft
