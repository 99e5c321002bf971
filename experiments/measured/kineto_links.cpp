#include "experiments/measured/kineto_links.hpp"

#include <algorithm>
#include <tuple>

namespace stagecraft {

bool is_backward(const KinetoTrace& trace, const KinetoScope& scope) {
  if (scope.kind != ScopeKind::Operator) return false;
  return scope.forward_thread != 0 || trace.names[scope.name].starts_with("autograd::engine::");
}

KinetoLinks::KinetoLinks(const KinetoTrace& trace, const ScopeTree& tree) : trace_(trace) {
  for (std::uint32_t i = 0; i < trace.scopes.size(); ++i) {
    const KinetoScope& scope = trace.scopes[i];
    if (scope.sequence < 0 || is_backward(trace, scope)) continue;
    keep_later(by_thread_[scope.thread], i);
    keep_later(of_any_, i);
  }
  learn_threads(tree);
}

void KinetoLinks::keep_later(Numbers& numbers, std::uint32_t scope) const {
  const auto [entry, is_new] = numbers.try_emplace(trace_.scopes[scope].sequence, scope);
  if (!is_new && trace_.scopes[entry->second].start <= trace_.scopes[scope].start) entry->second = scope;
}

/// The two ends of a link are on the thread of the forward, and at the start of an operator that has its number.
void KinetoLinks::learn_threads(const ScopeTree& tree) {
  std::unordered_map<std::int64_t, std::uint32_t> starts;
  for (const KinetoLink& link : trace_.links) {
    if (link.starts) starts.emplace(link.id, link.thread);
  }
  const auto key = [&](std::uint32_t i) { return std::tuple(trace_.scopes[i].thread, trace_.scopes[i].start); };
  for (const KinetoLink& link : trace_.links) {
    const auto start = starts.find(link.id);
    if (link.starts || start == starts.end()) continue;
    for (std::uint32_t i : std::ranges::equal_range(tree.order, std::tuple(link.thread, link.time), {}, key)) {
      const std::int64_t number = trace_.scopes[i].forward_thread;
      if (number != 0) thread_.emplace(number, start->second);
    }
  }
}

std::optional<std::uint32_t> KinetoLinks::forward_of(const KinetoScope& backward) const {
  if (backward.sequence < 0) return std::nullopt;
  const auto thread = thread_.find(backward.forward_thread);
  const auto numbers = thread == thread_.end() ? by_thread_.end() : by_thread_.find(thread->second);
  const Numbers& searched = numbers == by_thread_.end() ? of_any_ : numbers->second;
  const auto found = searched.find(backward.sequence);
  if (found == searched.end()) return std::nullopt;
  return found->second;
}

}  // namespace stagecraft
