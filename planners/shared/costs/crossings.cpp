#include "planners/shared/costs/crossings.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

/// Sorts by position and keeps the largest edge of each.
void merge_uses(std::vector<Crossings::Use>& uses) {
  std::ranges::sort(uses, [](const Crossings::Use& a, const Crossings::Use& b) {
    return a.at != b.at ? a.at < b.at : a.bytes > b.bytes;
  });
  const auto doubles = std::ranges::unique(uses, {}, &Crossings::Use::at);
  uses.erase(doubles.begin(), doubles.end());
}

}  // namespace

Crossings::Crossings(const LayerGraph& graph, const std::vector<LayerId>& order)
    : made_(order.size()), needed_(order.size()), branching_(order.size() + 1) {
  IndexVector<LayerId, std::size_t> position(graph.layers.size());
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (const LayerEdge& edge : graph.edges) made_[position[edge.from]].push_back({position[edge.to], edge.bytes});
  for (std::size_t producer = 0; producer < made_.size(); ++producer) {
    std::vector<Use>& uses = made_[producer];
    merge_uses(uses);
    for (const Use& use : uses) needed_[use.at].push_back({producer, use.bytes});
    if (uses.size() < 2) continue;
    for (std::size_t cut = producer + 1; cut <= uses[uses.size() - 2].at; ++cut) branching_[cut].push_back(producer);
  }
}

Bytes Crossings::sent(std::size_t producer, std::size_t cut, const Charges& behind) const {
  const std::vector<Use>& uses = made_[producer];
  if (uses.empty() || uses.back().at < cut) return Bytes(0);
  if (uses.size() < 2 || uses[uses.size() - 2].at < cut) return uses.back().bytes;
  const auto found = std::ranges::lower_bound(branching_[cut], producer);
  return behind[static_cast<std::size_t>(found - branching_[cut].begin())];
}

bool is_plain_chain(const Crossings& crossings) {
  for (std::size_t at = 0; at < crossings.layers(); ++at) {
    const std::vector<Crossings::Use>& uses = crossings.uses_of(at);
    const bool is_last = at + 1 == crossings.layers();
    if (is_last ? !uses.empty() : uses.size() != 1 || uses.front().at != at + 1) return false;
  }
  return true;
}

void StageWalk::restart(std::size_t end) {
  for (const std::size_t producer : touched_) largest_[producer] = Bytes(0);
  touched_.clear();
  begin_ = end_ = end;
  received_ = Bytes(0);
}

void StageWalk::prepend() {
  received_ -= largest_[--begin_];
  for (const Crossings::Use& need : crossings_.needs_of(begin_)) {
    Bytes& largest = largest_[need.at];
    if (need.bytes <= largest) continue;
    received_ += need.bytes - largest;
    largest = need.bytes;
    touched_.push_back(need.at);
  }
}

void StageWalk::skip_to(std::size_t begin) {
  restart(end_);
  begin_ = begin + 1;
  prepend();
}

Charges StageWalk::charges(const Charges& behind) const {
  Charges result;
  for (const std::size_t producer : crossings_.branching(begin_)) {
    result.push_back(crossings_.sent(producer, end_, behind) + largest_[producer]);
  }
  return result;
}

std::vector<Bytes> exchanged_bytes(const Crossings& crossings, std::span<const ChainStage> stages) {
  std::vector<Bytes> bytes(stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (std::size_t producer = stages[s].begin; producer < stages[s].end; ++producer) {
      const std::vector<Crossings::Use>& uses = crossings.uses_of(producer);
      for (std::size_t i = 0, to = s; i < uses.size();) {
        while (uses[i].at >= stages[to].end) ++to;
        Bytes largest;
        for (; i < uses.size() && uses[i].at < stages[to].end; ++i) largest = std::max(largest, uses[i].bytes);
        if (stages[to].device == stages[s].device) continue;
        bytes[s] += largest;
        bytes[to] += largest;
      }
    }
  }
  return bytes;
}

}  // namespace stagecraft
