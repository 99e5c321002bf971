#pragma once

#include "sim/engine/resource.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace stagecraft {

/// The exclusive links of a platform, which only one transfer at a time may use, and the ones that each unfinished
/// transfer needs.
class ExclusiveLinks {
 public:
  /// `platform` must outlive the links.
  explicit ExclusiveLinks(const Platform& platform);

  /// Whether the platform has any.
  [[nodiscard]] bool exist() const { return !links_.empty(); }
  /// Finds and keeps the exclusive links on the operation's route. Returns whether there are any. **Requires** that the
  /// platform has some.
  bool find(std::uint64_t op, const Op& what);
  /// Appends the links that `find` has found to `resources`.
  void append(std::uint64_t op, std::vector<Resource*>& resources);
  /// Every operation is given up.
  void abandon();
  /// The operation has ended.
  void forget(std::uint64_t op) { needed_.erase(op); }

 private:
  const Platform& platform_;
  std::vector<Resource> links_;  ///< by LinkId; empty if no link is exclusive
  std::unordered_map<std::uint64_t, std::vector<LinkId>> needed_;
  Route route_;
};

}  // namespace stagecraft
