#pragma once

#include "experiments/measured/kineto_scopes.hpp"
#include "sim/io/kineto_trace.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

namespace stagecraft {

/// Whether a range is an operator of the backward.
[[nodiscard]] bool is_backward(const KinetoTrace& trace, const KinetoScope& scope);

/// Finds the operator of the forward that belongs to one of the backward: of those with its number on its thread the
/// one that started last, which is the one that autograd recorded.
class KinetoLinks {
 public:
  KinetoLinks(const KinetoTrace& trace, const ScopeTree& tree);

  /// The position of the forward's operator in the trace's scopes; none if the trace does not have it.
  [[nodiscard]] std::optional<std::uint32_t> forward_of(const KinetoScope& backward) const;

 private:
  using Numbers = std::unordered_map<std::int64_t, std::uint32_t>;

  void learn_threads(const ScopeTree& tree);
  void keep_later(Numbers& numbers, std::uint32_t scope) const;

  const KinetoTrace& trace_;
  std::map<std::uint32_t, Numbers> by_thread_;
  Numbers of_any_;                                ///< for threads that no link tells
  std::map<std::int64_t, std::uint32_t> thread_;  ///< of the trace, by autograd's number of a thread
};

}  // namespace stagecraft
