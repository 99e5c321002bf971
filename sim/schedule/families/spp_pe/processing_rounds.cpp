#include "sim/schedule/families/spp_pe/processing_rounds.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace stagecraft {

// A microbatch that has started and not ended has exactly one ready block: it is in one place of the chain, on its way
// forward or back. So the ready blocks and the first stage's next microbatches say where all microbatches are. Forwards
// are kept by worker, since a worker at its cap cannot run one; all other blocks by resource.
//
// A round has two halves: every resource pops its block, and only then are the blocks pushed that follow. So none runs
// in the round in which it becomes ready. What a cap allows changes only with forwards and backwards of the same
// worker, which are all on one resource, so the order in which resources pop does not matter.
//
// **Invariant**: while there are microbatches to start, the next rounds depend only on these blocks, on how many
// microbatches each worker has in flight, and on the residues of microbatches modulo `stride_`, which say who runs
// them. So counting all microbatches up by a multiple of `stride_` changes nothing: states that are equal relative to
// `base` repeat the same rounds, and `advance` skips a cycle by adding to keys, which leaves heaps in order.

namespace {

constexpr std::uint64_t kOneMicrobatch = std::uint64_t{1} << 32;

/// A key that orders blocks by microbatch. Ties do not matter: a microbatch never has more than one ready block.
std::uint64_t key_of(std::uint32_t hop, bool backward, std::uint32_t microbatch) {
  return microbatch * kOneMicrobatch + hop * std::uint64_t{2} + (backward ? 1 : 0);
}

std::uint32_t microbatch_of(std::uint64_t key) { return static_cast<std::uint32_t>(key / kOneMicrobatch); }

void push_key(std::vector<std::uint64_t>& heap, std::uint64_t key) {
  heap.push_back(key);
  std::ranges::push_heap(heap, std::greater<>{});
}

void pop_key(std::vector<std::uint64_t>& heap) {
  std::ranges::pop_heap(heap, std::greater<>{});
  heap.pop_back();
}

void append_relative(std::vector<std::int64_t>& state, std::vector<std::uint64_t> heap, std::int64_t base) {
  std::ranges::sort(heap);
  state.push_back(static_cast<std::int64_t>(heap.size()));
  for (std::uint64_t key : heap) {
    state.push_back(static_cast<std::int64_t>(microbatch_of(key)) - base);
    state.push_back(static_cast<std::int64_t>(key % kOneMicrobatch));
  }
}

}  // namespace

ProcessingRounds::ProcessingRounds(const ProcessingChain& chain, std::int64_t microbatches)
    : chain_(&chain), microbatches_(microbatches), resources_(chain.resources) {
  STAGECRAFT_CHECK(microbatches <= std::numeric_limits<std::int32_t>::max(), "microbatches are counted in 31 bits");
  for (std::size_t s = 0; s < chain.stages.size(); ++s) {
    first_worker_.push_back(static_cast<std::uint32_t>(workers_.size()));
    const auto replicas = static_cast<std::int64_t>(chain.stages[s].size());
    stride_ = std::lcm(stride_, replicas);
    for (std::int64_t r = 0; r < replicas; ++r) {
      Worker worker;
      worker.stage = static_cast<std::uint32_t>(s);
      worker.cap = chain.caps[s];
      worker.supply = r;
      worker.stride = s == 0 ? replicas : 0;
      resources_[chain.stages[s][static_cast<std::size_t>(r)].resource].workers.push_back(
          static_cast<std::uint32_t>(workers_.size()));
      workers_.push_back(std::move(worker));
    }
  }
  for (const ProcessingChain::Cut& cut : chain.cuts) {
    if (cut.forward != cut.backward) resources_[cut.forward].forward_only = true;
  }
}

std::span<const ProcessingRounds::Popped> ProcessingRounds::next() {
  popped_.clear();
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    if (const auto block = pop(resources_[r])) popped_.push_back({static_cast<std::uint32_t>(r), *block});
  }
  for (const Popped& popped : popped_) push_after(popped.block);
  if (!popped_.empty()) ++round_;
  return popped_;
}

/// The key of the worker's forward of the smallest microbatch, if its cap lets it run one. The first stage needs no
/// input, so its forwards are not in a heap but counted.
std::optional<std::uint64_t> ProcessingRounds::first_forward(const Worker& worker) const {
  if (worker.in_flight >= worker.cap) return std::nullopt;
  if (worker.stride > 0) {
    if (worker.supply >= microbatches_) return std::nullopt;
    return key_of(0, false, static_cast<std::uint32_t>(worker.supply));
  }
  if (worker.forwards.empty()) return std::nullopt;
  return worker.forwards.front();
}

std::optional<ProcessingBlock> ProcessingRounds::pop(Resource& resource) {
  constexpr std::uint64_t kNothing = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t best = resource.others.empty() ? kNothing : resource.others.front();
  Worker* forward = nullptr;
  for (std::uint32_t index : resource.workers) {
    const std::optional<std::uint64_t> first = first_forward(workers_[index]);
    if (!first || *first >= best) continue;
    best = *first;
    forward = &workers_[index];
  }
  if (best == kNothing) return std::nullopt;
  const auto low = static_cast<std::uint32_t>(best % kOneMicrobatch);
  const ProcessingBlock block{low / 2, low % 2 != 0, microbatch_of(best), static_cast<std::uint32_t>(round_)};
  if (block.backward != resource.forward_only) ++resource.passed;
  if (forward != nullptr) {
    forward->peak = std::max(forward->peak, ++forward->in_flight);
    if (forward->stride > 0) {
      forward->supply += forward->stride;
    } else {
      pop_key(forward->forwards);
    }
    return block;
  }
  pop_key(resource.others);
  if (block.hop % 2 == 0) --workers_[worker_of(block.hop / 2, block.microbatch)].in_flight;
  return block;
}

/// Makes the microbatch's next block ready: one hop further, or two where it stays on its device and crosses no cut.
void ProcessingRounds::push_after(const ProcessingBlock& block) {
  const auto last = static_cast<std::uint32_t>(2 * chain_->stages.size() - 2);
  if (!block.backward && block.hop == last) {
    push(last, true, block.microbatch);
  } else if (!block.backward) {
    const bool skips = block.hop % 2 == 0 && !is_crossed(block.hop / 2, block.microbatch);
    push(block.hop + (skips ? 2 : 1), false, block.microbatch);
  } else if (block.hop > 0) {
    const bool skips = block.hop % 2 == 0 && !is_crossed(block.hop / 2 - 1, block.microbatch);
    push(block.hop - (skips ? 2 : 1), true, block.microbatch);
  }
}

void ProcessingRounds::push(std::uint32_t hop, bool backward, std::uint32_t microbatch) {
  const std::uint64_t key = key_of(hop, backward, microbatch);
  if (hop % 2 != 0) {
    const ProcessingChain::Cut& cut = chain_->cuts[hop / 2];
    push_key(resources_[backward ? cut.backward : cut.forward].others, key);
  } else if (!backward) {
    push_key(workers_[worker_of(hop / 2, microbatch)].forwards, key);
  } else {
    const auto& slots = chain_->stages[hop / 2];
    push_key(resources_[slots[microbatch % slots.size()].resource].others, key);
  }
}

std::uint32_t ProcessingRounds::worker_of(std::uint32_t stage, std::uint32_t microbatch) const {
  return first_worker_[stage] + microbatch % static_cast<std::uint32_t>(chain_->stages[stage].size());
}

bool ProcessingRounds::is_crossed(std::uint32_t cut, std::uint32_t microbatch) const {
  const auto& from = chain_->stages[cut];
  const auto& to = chain_->stages[cut + 1];
  return from[microbatch % from.size()].place != to[microbatch % to.size()].place;
}

std::vector<std::int64_t> ProcessingRounds::peaks() const {
  std::vector<std::int64_t> peaks(chain_->stages.size());
  for (const Worker& worker : workers_) peaks[worker.stage] = std::max(peaks[worker.stage], worker.peak);
  return peaks;
}

std::int64_t ProcessingRounds::base() const {
  std::int64_t least = microbatches_;
  const auto consider = [&](const std::vector<std::uint64_t>& heap) {
    if (!heap.empty()) least = std::min<std::int64_t>(least, microbatch_of(heap.front()));
  };
  for (const Worker& worker : workers_) {
    if (worker.stride > 0) least = std::min(least, worker.supply);
    consider(worker.forwards);
  }
  for (const Resource& resource : resources_) consider(resource.others);
  return least / stride_ * stride_;
}

std::vector<std::int64_t> ProcessingRounds::relative_state() const {
  const std::int64_t from = base();
  std::vector<std::int64_t> state;
  for (const Worker& worker : workers_) {
    state.push_back(worker.in_flight);
    if (worker.stride > 0) state.push_back(worker.supply - from);
    append_relative(state, worker.forwards, from);
  }
  for (const Resource& resource : resources_) append_relative(state, resource.others, from);
  return state;
}

bool ProcessingRounds::has_supply(std::int64_t ahead) const {
  return std::ranges::all_of(
      workers_, [&](const Worker& worker) { return worker.stride == 0 || worker.supply + ahead < microbatches_; });
}

void ProcessingRounds::advance(std::int64_t shift, std::int64_t rounds, const std::vector<std::int64_t>& passed) {
  const std::uint64_t keys = static_cast<std::uint64_t>(shift) * kOneMicrobatch;
  for (Worker& worker : workers_) {
    worker.supply += shift;
    for (std::uint64_t& key : worker.forwards) key += keys;
  }
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    for (std::uint64_t& key : resources_[r].others) key += keys;
    resources_[r].passed += passed[r];
  }
  round_ += rounds;
}

}  // namespace stagecraft
