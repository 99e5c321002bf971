#pragma once

#include "sim/schedule/families/spp_pe/processing_order.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stagecraft {

/// The rounds of `order_blocks`, one by one. A copy goes on from where it was made.
class ProcessingRounds {
 public:
  struct Popped {
    std::uint32_t resource = 0;
    ProcessingBlock block;
  };

  /// `chain` must outlive it.
  ProcessingRounds(const ProcessingChain& chain, std::int64_t microbatches);

  /// What the resources run in the next round, by resource; empty when all is done.
  [[nodiscard]] std::span<const Popped> next();

  [[nodiscard]] std::int64_t rounds() const { return round_; }
  [[nodiscard]] std::vector<std::int64_t> peaks() const;  ///< so far, by stage
  /// Backwards that a resource has run so far; of a channel of forwards, these.
  [[nodiscard]] std::int64_t passed(std::size_t resource) const { return resources_[resource].passed; }
  /// Microbatches below it have ended. A multiple of every count of replicas.
  [[nodiscard]] std::int64_t base() const;
  /// All that the rounds to come depend on, counted from `base`, while no microbatch lacks at the first stage.
  [[nodiscard]] std::vector<std::int64_t> relative_state() const;
  /// Whether the first stage has had microbatches for all that it could run so far, and `ahead` further ones.
  [[nodiscard]] bool has_supply(std::int64_t ahead) const;

  /// Counts all microbatches up by `shift`, rounds by `rounds` and what each resource has passed by `passed`.
  void advance(std::int64_t shift, std::int64_t rounds, const std::vector<std::int64_t>& passed);

 private:
  /// Replicas of a stage that run whole microbatches, or a stage that divides each.
  struct Worker {
    std::uint32_t stage = 0;
    std::int64_t cap = 0;
    std::int64_t in_flight = 0;
    std::int64_t peak = 0;
    std::vector<std::uint64_t> forwards;  ///< ready; a heap
    std::int64_t supply = 0;              ///< of the first stage: its next microbatch
    std::int64_t stride = 0;              ///< of the first stage: from one to the next; else 0
  };
  struct Resource {
    std::vector<std::uint32_t> workers;
    std::vector<std::uint64_t> others;  ///< ready backwards and transfers; a heap
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
