#include "planners/madpipe/stage_costs.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft::madpipe {
namespace {

/// The bytes of `count` stashes. If the product overflows, a number that is larger than any capacity.
std::int64_t stash_of(std::int64_t each, std::int64_t count) {
  std::int64_t bytes = 0;
  constexpr std::int64_t kTooMuch = std::numeric_limits<std::int64_t>::max() / 2;
  return __builtin_mul_overflow(each, count, &bytes) ? kTooMuch : std::min(bytes, kTooMuch);
}

std::int64_t periods_in(Ticks delay, Ticks target) {
  return delay <= target ? (delay > 0 ? 1 : 0) : (delay - 1) / target + 1;
}

/// The largest edge from a layer to those in [begin, end).
Bytes largest_use(const Crossings& crossings, std::size_t producer, std::size_t begin, std::size_t end) {
  Bytes largest;
  for (const Crossings::Use& use : crossings.uses_of(producer)) {
    if (use.at >= begin && use.at < end) largest = std::max(largest, use.bytes);
  }
  return largest;
}

/// Whether every tensor is used by the next layer only.
bool passes_on_only(const Crossings& crossings) {
  for (std::size_t i = 0; i < crossings.layers(); ++i) {
    const std::vector<Crossings::Use>& uses = crossings.uses_of(i);
    if (!uses.empty() && uses.back().at > i + 1) return false;
  }
  return true;
}

}  // namespace

StageCosts::StageCosts(const Chain& chain, const AllocationSettings& settings)
    : parts_(chain.size() + 1),
      parameters_(chain.parameters()),
      copies_(chain.copies_of_parameters()),
      stash_(chain.stashes()),
      overhead_(chain.overhead()),
      each_buffer_(chain.buffers(Bytes(1)).value()),
      normal_devices_(chain.device_count() - 1),
      capacity_(chain.capacity().value()),
      uncharged_(settings.special_memory == SpecialMemory::Optimistic ? 1 : 0) {
  const Crossings& crossings = chain.crossings();
  if (!passes_on_only(crossings)) graph_ = std::make_shared<const Crossings>(crossings);
  for (std::size_t i = 0; i <= chain.size(); ++i) {
    Part& part = parts_[i];
    part.load_before = i == 0 ? 0 : chain.load(0, i) - overhead_;
    part.cut = chain.cut_load(i);
    if (!graph_ && i > 0 && i < chain.size()) {
      part.buffers = chain.buffers(largest_use(crossings, i - 1, i, chain.size())).value();
    }
    total_cuts_ += part.cut;
    largest_bottleneck_ = std::max(largest_bottleneck_, part.cut);
    if (chain.transfer(i) >= kLongestTransfer) part.cut = kUnlimited;  // the chain is never cut here
    if (i == chain.size()) break;
    part.load = chain.load(i, i + 1) - overhead_;
    part.workspace = chain.workspace(i, i + 1).value();
    least_bottleneck_ = std::max(least_bottleneck_, part.load + overhead_);
  }
  const auto devices = static_cast<Ticks>(chain.device_count());
  const Ticks least = chain.load(0, chain.size());
  least_bottleneck_ = std::max(least_bottleneck_, least / devices + (least % devices == 0 ? 0 : 1));
  most_load_ = chain.most_load();
  largest_bottleneck_ = std::max(largest_bottleneck_, most_load_);
}

StageInHand StageCosts::before(std::uint32_t end) const {
  StageInHand stage;
  stage.begin = stage.end = end;
  stage.load = overhead_;
  stage.sent = parts_[end].buffers;
  return stage;
}

void StageCosts::prepend(StageInHand& stage) const {
  const Part& part = parts_[--stage.begin];
  stage.load += part.load;
  stage.cut = part.cut;
  stage.copies = parameters_(stage.begin, stage.end).value() * copies_;
  stage.stash = stash_(stage.begin, stage.end).value();
  stage.workspace = std::max(stage.workspace, part.workspace);
  if (graph_) {
    exchange(stage);
  } else {
    stage.received = part.buffers;
  }
}

void StageCosts::exchange(StageInHand& stage) const {
  const auto buffers = [&](std::size_t producer, std::size_t begin, std::size_t end) {
    return largest_use(*graph_, producer, begin, end).value() * each_buffer_;
  };
  const std::size_t first = stage.begin;
  stage.sent += buffers(first, stage.end, layers());
  stage.received -= buffers(first, first + 1, stage.end);
  for (const Crossings::Use& need : graph_->needs_of(first)) {
    const std::int64_t before = buffers(need.at, first + 1, stage.end);
    stage.received += std::max(need.bytes.value() * each_buffer_, before) - before;
  }
}

void StageCosts::schedule(StageInHand& stage, Ticks delay, std::int64_t periods, Ticks target) const {
  Ticks reach = delay + stage.load;  // v = V (+) U
  stage.is_delayed = reach > periods * target;
  if (stage.is_delayed) {
    reach = periods * target + stage.load;
    periods += periods_in(stage.load, target);
  }
  stage.in_flight = std::max<std::int64_t>(1, periods);
  stage.delay = reach + stage.cut;  // V' = v (+) C
  if (stage.delay > periods * target) {
    stage.is_delayed = true;
    stage.delay = periods * target + stage.cut;
  }
  const std::int64_t fixed = stage.copies + stage.sent + stage.workspace;
  stage.memory_behind = fixed + stash_of(stage.stash, stage.in_flight);
  stage.memory = stage.memory_behind + stage.received;
  stage.charged = fixed + stage.received + stash_of(stage.stash, stage.in_flight - uncharged_);
}

bool StageCosts::is_too_much(std::uint32_t layers, std::uint32_t normal, Ticks load, Ticks limit) const {
  const Ticks open = parts_[layers].load_before;
  Ticks without = 0;
  if (__builtin_mul_overflow(limit, static_cast<Ticks>(normal), &without)) return false;
  Ticks with = 0;
  if (__builtin_add_overflow(without, limit, &with)) return false;
  return open >= without && open + load >= with;
}

}  // namespace stagecraft::madpipe
