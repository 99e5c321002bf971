#include "sim/schedule/families/spp_pe/processing_pieces.hpp"

#include "sim/model/replicas.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace stagecraft {
namespace {

/// `ProcessingRounds::passed` of each resource when exactly the microbatches below `end` have ended.
std::vector<std::int64_t> passed_by(const ProcessingChain& chain, std::int64_t end) {
  std::vector<std::int64_t> passed(chain.resources, end);
  for (const auto& slots : chain.stages) {
    const auto replicas = static_cast<std::int64_t>(slots.size());
    for (std::int64_t r = 0; r < replicas; ++r) {
      passed[slots[static_cast<std::size_t>(r)].resource] =
          Rotation(replicas).count(static_cast<std::uint32_t>(r), end);
    }
  }
  return passed;
}

std::vector<std::int64_t> passed_of(const ProcessingRounds& rounds, std::size_t resources) {
  std::vector<std::int64_t> passed(resources);
  for (std::size_t r = 0; r < resources; ++r) passed[r] = rounds.passed(r);
  return passed;
}

/// How many cycles can be skipped while every resource has still passed less than `begin` says. -1 if some resource has
/// already passed as much when the cycle begins.
std::int64_t times_before(const ProcessingCycle& cycle, const std::vector<std::int64_t>& begin) {
  std::int64_t times = std::numeric_limits<std::int64_t>::max();
  for (std::size_t r = 0; r < begin.size(); ++r) {
    const std::int64_t left = begin[r] - 1 - cycle.at.passed(r);
    if (left < 0) return -1;
    times = std::min(times, left / std::max<std::int64_t>(cycle.passed[r], 1));
  }
  return times;
}

/// How many cycles can be skipped before the first stage may run out of microbatches; then the rounds differ.
std::int64_t times_supplied(const ProcessingCycle& cycle, std::int64_t microbatches) {
  std::int64_t times = (microbatches - cycle.at.base()) / cycle.microbatches;
  while (times > 0 && !cycle.at.has_supply(times * cycle.microbatches)) --times;
  return times;
}

ProcessingRounds after(const ProcessingCycle& cycle, std::int64_t times) {
  ProcessingRounds rounds = cycle.at;
  std::vector<std::int64_t> passed = cycle.passed;
  for (std::int64_t& count : passed) count *= times;
  rounds.advance(times * cycle.microbatches, times * cycle.rounds, passed);
  return rounds;
}

void run_to_end(ProcessingRounds& rounds) {
  while (!rounds.next().empty()) {
  }
}

}  // namespace

std::optional<ProcessingCycle> find_cycle(const ProcessingChain& chain, std::int64_t microbatches) {
  // Brent's algorithm for finding a cycle: each new state is compared with a kept one, which is replaced at doubling
  // distances. A state is looked at whenever `base` grows.
  const std::size_t longest = 64 + 16 * chain.resources;  // number of states to look at
  ProcessingRounds rounds(chain, microbatches);
  ProcessingRounds kept = rounds;
  std::vector<std::int64_t> state = rounds.relative_state();
  std::size_t looked = 0;
  std::size_t next_kept = 1;
  for (std::int64_t base = rounds.base(); looked < longest;) {
    if (rounds.next().empty() || !rounds.has_supply(0)) return std::nullopt;
    if (rounds.base() == base) continue;
    base = rounds.base();
    std::vector<std::int64_t> now = rounds.relative_state();
    if (now == state) {
      ProcessingCycle cycle{rounds, base - kept.base(), rounds.rounds() - kept.rounds(), {}};
      for (std::size_t r = 0; r < chain.resources; ++r) cycle.passed.push_back(rounds.passed(r) - kept.passed(r));
      return cycle;
    }
    if (++looked == next_kept) {
      next_kept *= 2;
      kept = rounds;
      state = std::move(now);
    }
  }
  return std::nullopt;
}

std::vector<std::int64_t> order_peaks(const ProcessingChain& chain, std::int64_t microbatches) {
  const std::optional<ProcessingCycle> cycle = find_cycle(chain, microbatches);
  ProcessingRounds rounds =
      cycle ? after(*cycle, times_supplied(*cycle, microbatches)) : ProcessingRounds(chain, microbatches);
  run_to_end(rounds);
  return rounds.peaks();
}

std::vector<std::vector<ProcessingBlock>> order_piece(const ProcessingChain& chain, std::int64_t microbatches,
                                                      Segment segment) {
  const std::optional<ProcessingCycle> cycle = find_cycle(chain, microbatches);
  if (!cycle) {
    if (segment.begin > 0) return std::vector<std::vector<ProcessingBlock>>(chain.resources);
    return order_blocks(chain, microbatches).lists;
  }
  const std::vector<std::int64_t> begin = passed_by(chain, segment.begin);
  const std::vector<std::int64_t> end = passed_by(chain, segment.end);
  const std::int64_t times = std::min(times_before(*cycle, begin), times_supplied(*cycle, microbatches));
  ProcessingRounds rounds = times >= 0 ? after(*cycle, times) : ProcessingRounds(chain, microbatches);
  std::vector<std::vector<ProcessingBlock>> lists(chain.resources);
  std::vector<std::int64_t> passed = passed_of(rounds, chain.resources);
  const auto is_complete = [&] {
    for (std::size_t r = 0; r < chain.resources; ++r) {
      if (rounds.passed(r) < end[r]) return false;
    }
    return true;
  };
  // A block belongs to the segment if its resource had passed at least `begin` and less than `end` before it.
  while (!is_complete()) {
    for (const auto& [resource, block] : rounds.next()) {
      if (passed[resource] >= begin[resource] && passed[resource] < end[resource]) lists[resource].push_back(block);
      passed[resource] = rounds.passed(resource);
    }
  }
  return lists;
}

}  // namespace stagecraft
