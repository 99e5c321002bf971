#pragma once

#include "sim/schedule/families/spp_pe/processing_order.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stagecraft {

/// Runs the rounds of `order_blocks`, one by one. A copy continues from the round at which it was made.
class ProcessingRounds {
 public:
  struct Popped {
    std::uint32_t resource = 0;
    ProcessingBlock block;
  };

  /// `chain` must outlive it.
  ProcessingRounds(const ProcessingChain& chain, std::int64_t microbatches);

  /// Runs the next round and returns its blocks, by resource; empty when all blocks have run.
  [[nodiscard]] std::span<const Popped> next();

  [[nodiscard]] std::int64_t rounds() const { return round_; }
  /// By stage: the most microbatches in flight on one replica so far.
  [[nodiscard]] std::vector<std::int64_t> peaks() const;
  /// The number of backwards that a resource has run so far; for a channel that carries forwards only, of forwards.
  [[nodiscard]] std::int64_t passed(std::size_t resource) const { return resources_[resource].passed; }
  /// All microbatches below it have ended. A multiple of every stage's number of alternating replicas.
  [[nodiscard]] std::int64_t base() const;
  /// The scheduler's state relative to `base()`. Equal states repeat the same rounds, as long as the first stage still
  /// has microbatches to start.
  [[nodiscard]] std::vector<std::int64_t> relative_state() const;
  /// Whether the first stage has always had a microbatch to start so far, and would still have one if all microbatches
  /// were counted up by `ahead`.
  [[nodiscard]] bool has_supply(std::int64_t ahead) const;

  /// Skips whole cycles: adds `shift` to all microbatches, `rounds` to the number of rounds, and `passed` to what each
  /// resource has passed.
  void advance(std::int64_t shift, std::int64_t rounds, const std::vector<std::int64_t>& passed);

 private:
  /// One replica of a stage whose replicas alternate, or all replicas of a stage that divides each microbatch.
  struct Worker {
    std::uint32_t stage = 0;
    std::int64_t cap = 0;
    std::int64_t in_flight = 0;
    std::int64_t peak = 0;
    std::vector<std::uint64_t> forwards;  ///< keys of the ready forwards; a heap
    std::int64_t supply = 0;              ///< on the first stage: the next microbatch to start
    std::int64_t stride = 0;              ///< on the first stage: from one of its microbatches to the next; else 0
  };
  struct Resource {
    std::vector<std::uint32_t> workers;
    std::vector<std::uint64_t> others;  ///< keys of the ready backwards and transfers; a heap
    std::int64_t passed = 0;
    bool forward_only = false;
  };

  [[nodiscard]] std::optional<std::uint64_t> first_forward(const Worker& worker) const;
  [[nodiscard]] std::optional<ProcessingBlock> pop(Resource& resource);
  void push_after(const ProcessingBlock& block);
  void push(std::uint32_t hop, bool backward, std::uint32_t microbatch);
  [[nodiscard]] std::uint32_t worker_of(std::uint32_t stage, std::uint32_t microbatch) const;
  [[nodiscard]] bool is_crossed(std::uint32_t cut, std::uint32_t microbatch) const;

  const ProcessingChain* chain_;
  std::int64_t microbatches_;
  std::int64_t stride_ = 1;  ///< the least common multiple of all counts of replicas
  std::vector<Worker> workers_;
  std::vector<std::uint32_t> first_worker_;  ///< by stage
  std::vector<Resource> resources_;
  std::vector<Popped> popped_;
  std::int64_t round_ = 0;
};

}  // namespace stagecraft
