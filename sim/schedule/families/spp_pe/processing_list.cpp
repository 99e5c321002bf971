#include "sim/schedule/families/spp_pe/processing_list.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <tuple>

namespace stagecraft {
namespace {

// Heaps with the least in front.
constexpr auto kByRound = [](const auto& a, const auto& b) { return a.round > b.round; };
constexpr auto kByReady = [](const auto& a, const auto& b) {
  return std::tie(a.ready, a.round) > std::tie(b.ready, b.round);
};
constexpr auto kByStart = [](const auto& a, const auto& b) {
  return std::tie(a.start, a.microbatch) > std::tie(b.start, b.microbatch);
};

template <class T, class Less>
void push(std::vector<T>& heap, const T& item, Less less) {
  heap.push_back(item);
  std::ranges::push_heap(heap, less);
}

template <class T, class Less>
T pop(std::vector<T>& heap, Less less) {
  std::ranges::pop_heap(heap, less);
  T item = heap.back();
  heap.pop_back();
  return item;
}

}  // namespace

ProcessingList::ProcessingList(const PipelineTimes& times, const ProcessingChain& chain, const ProcessingOrder& order,
                               std::int64_t microbatches)
    : times_(times),
      chain_(chain),
      microbatches_(microbatches),
      hops_(static_cast<std::uint32_t>(times.resources.size())),
      round_of_(2 * times.resources.size() * static_cast<std::size_t>(microbatches)),
      gates_(chain.stages.size()),
      resources_(chain.resources),
      ends_(chain.stages.size()) {
  const auto count = static_cast<std::size_t>(microbatches);
  for (const auto& list : order.lists) {
    for (const ProcessingBlock& block : list) round_of_[step_of(block) * count + block.microbatch] = block.round;
  }
  for (std::size_t s = 0; s < chain.stages.size(); ++s) {
    const std::size_t replicas = chain.stages[s].size();
    in_flight_.emplace_back(replicas);
    const auto held = static_cast<std::int64_t>(replicas) * std::min(chain.caps[s], microbatches);
    if (held >= microbatches) continue;
    gates_[s].resize(count);
    for (auto m = static_cast<std::size_t>(held); m < count; ++m) gates_[s][m].missing = 2;
  }
  figures_.rounds = order.rounds;
  figures_.peaks.resize(chain.stages.size());
}

ProcessingFigures ProcessingList::run(std::vector<ProcessedBlock>* blocks) {
  for (std::int64_t m = 0; m < microbatches_; ++m) arrive(0, static_cast<std::uint32_t>(m), Seconds(0));
  std::size_t started = 0;
  while (!next_.empty()) {
    const Next next = pop(next_, kByStart);
    if (next.version != resources_[next.resource].version) continue;
    start(next, blocks);
    ++started;
  }
  STAGECRAFT_CHECK(started == round_of_.size(), "every block runs");
  for (std::size_t s = 0; s < ends_.size(); ++s) {
    figures_.time = std::max(figures_.time, ends_[s] + times_.synchronise[s]);
  }
  return std::move(figures_);
}

/// The position of a block among the blocks of its microbatch: forwards by increasing hop, then backwards by decreasing
/// hop.
std::uint32_t ProcessingList::step_of(const ProcessingBlock& block) const {
  return block.backward ? 2 * hops_ - 1 - block.hop : block.hop;
}

ProcessingBlock ProcessingList::block_of(const Waiting& waiting) const {
  const bool backward = waiting.step >= hops_;
  return {backward ? 2 * hops_ - 1 - waiting.step : waiting.step, backward, waiting.microbatch, waiting.round};
}

std::uint32_t ProcessingList::resource_of(const ProcessingBlock& block) const {
  if (block.hop % 2 != 0) {
    const ProcessingChain::Cut& cut = chain_.cuts[block.hop / 2];
    return block.backward ? cut.backward : cut.forward;
  }
  const auto& slots = chain_.stages[block.hop / 2];
  return slots[block.microbatch % slots.size()].resource;
}

/// The previous block of the same microbatch ends at `ready`.
void ProcessingList::arrive(std::uint32_t step, std::uint32_t microbatch, Seconds ready) {
  if (step < hops_ && step % 2 == 0 && !gates_[step / 2].empty()) {
    open_gate(step / 2, microbatch, ready);
  } else {
    add(step, microbatch, ready);
  }
}

/// One of the things that the forward waits for has ended at `at`.
void ProcessingList::open_gate(std::size_t stage, std::int64_t microbatch, Seconds at) {
  Gate& gate = gates_[stage][static_cast<std::size_t>(microbatch)];
  gate.ready = std::max(gate.ready, at);
  if (--gate.missing > 0) return;
  add(static_cast<std::uint32_t>(2 * stage), static_cast<std::uint32_t>(microbatch), gate.ready);
}

/// Enters a block at its resource, among those that are ready when the resource is free or among the later ones.
void ProcessingList::add(std::uint32_t step, std::uint32_t microbatch, Seconds ready) {
  const std::uint32_t round = round_of_[step * static_cast<std::size_t>(microbatches_) + microbatch];
  const Waiting waiting{ready, round, microbatch, step};
  const std::uint32_t number = resource_of(block_of(waiting));
  Resource& resource = resources_[number];
  if (ready <= resource.free) {
    push(resource.ready, waiting, kByRound);
  } else {
    push(resource.coming, waiting, kByReady);
  }
  const Waiting& first = resource.ready.empty() ? resource.coming.front() : resource.ready.front();
  if (first.round == round) announce(number);  // it is the next one now: no two blocks of a resource share a round
}

/// Enters the resource's next start anew, and thereby makes its older entry stale.
void ProcessingList::announce(std::uint32_t number) {
  Resource& resource = resources_[number];
  ++resource.version;
  if (!resource.ready.empty()) {
    push(next_, {resource.free, resource.ready.front().microbatch, number, resource.version}, kByStart);
  } else if (!resource.coming.empty()) {
    const Waiting& first = resource.coming.front();
    push(next_, {first.ready, first.microbatch, number, resource.version}, kByStart);
  }
}

ProcessingList::Waiting ProcessingList::take(Resource& resource) {
  return resource.ready.empty() ? pop(resource.coming, kByReady) : pop(resource.ready, kByRound);
}

void ProcessingList::start(const Next& next, std::vector<ProcessedBlock>* blocks) {
  Resource& resource = resources_[next.resource];
  const Waiting waiting = take(resource);
  const ProcessingBlock block = block_of(waiting);
  const Seconds end = next.start + block_time(times_, block);
  resource.free = end;
  while (!resource.coming.empty() && resource.coming.front().ready <= end) {
    push(resource.ready, pop(resource.coming, kByReady), kByRound);
  }
  announce(next.resource);
  count(block, end);
  if (blocks != nullptr) blocks->push_back({block, next.start, end});
  if (waiting.step + 1 < 2 * hops_) arrive(waiting.step + 1, waiting.microbatch, end);
}

/// Updates a stage's microbatches in flight when one of its blocks has started and will end at `end`. The end of a
/// backward opens the gate of the forward that the cap holds back until then.
void ProcessingList::count(const ProcessingBlock& block, Seconds end) {
  if (block.hop % 2 != 0) return;
  const std::size_t s = block.hop / 2;
  const auto replicas = static_cast<std::int64_t>(chain_.stages[s].size());
  std::int64_t& in_flight = in_flight_[s][static_cast<std::size_t>(block.microbatch % replicas)];
  if (!block.backward) {
    figures_.peaks[s] = std::max(figures_.peaks[s], ++in_flight);
    return;
  }
  --in_flight;
  ends_[s] = std::max(ends_[s], end);
  if (gates_[s].empty()) return;
  const std::int64_t released = block.microbatch + chain_.caps[s] * replicas;
  if (released < microbatches_) open_gate(s, released, end);
}

}  // namespace stagecraft
