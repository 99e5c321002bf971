#include "experiments/measured/kineto_scopes.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>

namespace stagecraft {
namespace {

/// The ranges that are open at a time of a thread.
class OpenScopes {
 public:
  explicit OpenScopes(const KinetoTrace& trace) : trace_(trace) {}

  /// The innermost range that contains the time. Times of a thread come in order.
  [[nodiscard]] std::int32_t at(std::uint32_t thread, Nanoseconds time) {
    while (!open_.empty()) {
      const KinetoScope& scope = trace_.scopes[open_.back()];
      if (scope.thread == thread && time < scope.end) break;
      open_.pop_back();
    }
    return open_.empty() ? -1 : static_cast<std::int32_t>(open_.back());
  }
  void push(std::uint32_t scope) { open_.push_back(scope); }

 private:
  const KinetoTrace& trace_;
  std::vector<std::uint32_t> open_;
};

int rank_of(ScopeKind kind) {
  switch (kind) {
    case ScopeKind::Annotation: return 0;
    case ScopeKind::Module: return 1;
    default: return 2;
  }
}

std::vector<std::uint32_t> by_start(std::size_t count, const auto& key) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, key);
  return order;
}

}  // namespace

ScopeTree nest_scopes(const KinetoTrace& trace) {
  ScopeTree tree;
  tree.parent.resize(trace.scopes.size());
  tree.of_call.resize(trace.calls.size());
  tree.order = by_start(trace.scopes.size(), [&](std::uint32_t i) {
    const KinetoScope& scope = trace.scopes[i];
    return std::tuple(scope.thread, scope.start, -scope.end, rank_of(scope.kind), i);
  });
  const std::vector<std::uint32_t> calls = by_start(
      trace.calls.size(), [&](std::uint32_t i) { return std::tuple(trace.calls[i].thread, trace.calls[i].start, i); });
  OpenScopes open(trace);
  std::size_t next = 0;
  for (std::uint32_t call : calls) {
    const auto [start, correlation, thread] = trace.calls[call];
    for (; next < tree.order.size(); ++next) {
      const KinetoScope& scope = trace.scopes[tree.order[next]];
      if (std::tuple(scope.thread, scope.start) > std::tuple(thread, start)) break;
      tree.parent[tree.order[next]] = open.at(scope.thread, scope.start);
      open.push(tree.order[next]);
    }
    tree.of_call[call] = open.at(thread, start);
  }
  for (; next < tree.order.size(); ++next) {
    const KinetoScope& scope = trace.scopes[tree.order[next]];
    tree.parent[tree.order[next]] = open.at(scope.thread, scope.start);
    open.push(tree.order[next]);
  }
  return tree;
}

}  // namespace stagecraft
