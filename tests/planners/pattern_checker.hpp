#pragma once

#include "planners/shared/costs/chain.hpp"
#include "sim/schedule/periodic.hpp"
#include "tests/planners/memory_chains.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft::testing {

/// The problems of a pattern, found by laying out many microbatches one by one, independently of how it was made.
struct PatternVerdict {
  std::vector<std::string> problems;
  std::map<std::uint32_t, Bytes> peaks;  ///< of each device
};

class PatternChecker {
 public:
  PatternChecker(const Chain& chain, std::vector<ChainStage> stages, const TickPattern& pattern)
      : chain_(chain), stages_(std::move(stages)), pattern_(pattern) {}

  PatternVerdict verdict() {
    check_operations();
    if (!verdict_.problems.empty()) return verdict_;
    check_chain();
    std::int64_t most = 0;
    for (const TickOperation& o : pattern_.operations) most = std::max(most, o.shift);
    for (std::int64_t j = 0; j < 2 * most + 4; ++j) lay_out(j);
    check_overlaps();
    check_memory();
    return verdict_;
  }

 private:
  struct Span {
    Ticks begin;
    Ticks end;
  };
  using Resource = std::pair<std::uint32_t, std::uint32_t>;  // the same device twice, or the two ends of a link
  using Name = std::tuple<bool, std::uint32_t, bool>;

  void complain(const std::string& what) { verdict_.problems.push_back(what); }
  [[nodiscard]] bool has_cut(std::size_t s) const {  // after stage s
    return s + 1 < stages_.size() && stages_[s].device != stages_[s + 1].device;
  }
  [[nodiscard]] Ticks duration(const TickOperation& o) const {
    const ChainStage& stage = stages_[o.index];
    if (o.is_cut) return chain_.transfer(stage.end);
    return o.backward ? chain_.backward(stage.begin, stage.end) : chain_.forward(stage.begin, stage.end);
  }
  [[nodiscard]] Resource resource(const TickOperation& o) const {
    const std::uint32_t here = stages_[o.index].device;
    return o.is_cut ? Resource(std::minmax(here, stages_[o.index + 1].device)) : Resource(here, here);
  }
  [[nodiscard]] Ticks start(const TickOperation& o, std::int64_t microbatch) const {
    return (microbatch + o.shift) * pattern_.period + o.start;
  }

  void check_operations() {
    for (const TickOperation& o : pattern_.operations) {
      if (!by_name_.emplace(Name(o.is_cut, o.index, o.backward), o).second) complain("an operation twice");
      if (o.start < 0 || o.start >= pattern_.period) complain("a start outside the period");
    }
    std::size_t expected = 2 * stages_.size();
    for (std::size_t s = 0; s < stages_.size(); ++s) expected += has_cut(s) ? 2 : 0;
    if (by_name_.size() != expected) complain("not every operation");
  }

  void check_chain() {
    std::vector<Name> order;
    for (std::uint32_t s = 0; s < stages_.size(); ++s) {
      order.emplace_back(false, s, false);
      if (has_cut(s)) order.emplace_back(true, s, false);
    }
    for (auto s = static_cast<std::uint32_t>(stages_.size()); s-- > 0;) {
      if (has_cut(s)) order.emplace_back(true, s, true);
      order.emplace_back(false, s, true);
    }
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
      const TickOperation& before = by_name_.at(order[i]);
      if (start(before, 0) + duration(before) > start(by_name_.at(order[i + 1]), 0)) complain("starts too early");
    }
  }

  void lay_out(std::int64_t microbatch) {
    for (const TickOperation& o : pattern_.operations) {
      const Ticks begin = start(o, microbatch);
      busy_[resource(o)].push_back({begin, begin + duration(o)});
      if (o.is_cut) continue;
      const ChainStage& stage = stages_[o.index];
      const std::int64_t stash = chain_.stash(stage.begin, stage.end).value();
      if (o.backward) {
        stashes_[stage.device].emplace_back(begin + duration(o), -stash);
      } else {
        stashes_[stage.device].emplace_back(begin, stash);
      }
    }
  }

  void check_overlaps() {
    for (auto& [resource, spans] : busy_) {
      std::ranges::sort(
          spans, [](const Span& a, const Span& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
      for (std::size_t i = 1; i < spans.size(); ++i) {
        if (spans[i].begin < spans[i - 1].end) complain("two at a time on one resource");
      }
    }
  }

  /// At one instant, memory is freed before any is taken.
  void check_memory() {
    for (auto& [device, changes] : stashes_) {
      std::ranges::sort(changes);
      std::int64_t held = 0;
      std::int64_t most = 0;
      for (const auto& [when, change] : changes) most = std::max(most, held += change);
      Bytes fixed;
      Bytes workspace;
      for (std::size_t s = 0; s < stages_.size(); ++s) {
        if (stages_[s].device != device) continue;
        fixed += chain_.copies(stages_[s].begin, stages_[s].end);
        if (s > 0 && has_cut(s - 1)) fixed += buffers_at(chain_, stages_[s].begin);
        if (has_cut(s)) fixed += buffers_at(chain_, stages_[s].end);
        workspace = std::max(workspace, chain_.workspace(stages_[s].begin, stages_[s].end));
      }
      verdict_.peaks[device] = fixed + workspace + Bytes(most);
      if (verdict_.peaks[device] > chain_.capacity()) complain("device " + std::to_string(device) + " overflows");
    }
  }

  const Chain& chain_;
  std::vector<ChainStage> stages_;
  const TickPattern& pattern_;
  PatternVerdict verdict_;
  std::map<Name, TickOperation> by_name_;
  std::map<Resource, std::vector<Span>> busy_;
  std::map<std::uint32_t, std::vector<std::pair<Ticks, std::int64_t>>> stashes_;
};

inline PatternVerdict check_pattern(const Chain& chain, const std::vector<ChainStage>& stages,
                                    const TickPattern& pattern) {
  return PatternChecker(chain, stages, pattern).verdict();
}

}  // namespace stagecraft::testing
