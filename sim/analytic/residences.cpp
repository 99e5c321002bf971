#include "sim/analytic/residences.hpp"

#include <algorithm>
#include <map>
#include <span>

namespace stagecraft {
namespace {

using Residences = IndexVector<ReplicaId, std::vector<Residence>>;

/// The longest chain from the start of a replica's forward to the end of an operation after it.
struct Chain {
  ReplicaId replica;
  Seconds time;
};
using Chains = std::vector<Chain>;  ///< by replica, of those whose microbatch is in flight

/// The longer ones of two.
Chains merged(const Chains& a, const Chains& b) {
  Chains both;
  both.reserve(a.size() + b.size());
  auto one = a.begin();
  auto other = b.begin();
  while (one != a.end() && other != b.end()) {
    if (one->replica == other->replica) {
      both.push_back({one->replica, std::max(one->time, other->time)});
      ++one;
      ++other;
    } else {
      both.push_back(one->replica < other->replica ? *one++ : *other++);
    }
  }
  both.insert(both.end(), one, a.end());
  both.insert(both.end(), other, b.end());
  return both;
}

/// Follows the operations of one microbatch.
class Flight {
 public:
  Flight(const SampledRun& run, std::vector<std::uint32_t>& local_of) : run_(run), local_of_(local_of) {}

  /// `ops`: positions of all of the microbatch's operations, increasing.
  void add_to(Residences& found, std::span<const std::uint32_t> ops) {
    chains_.assign(ops.size(), {});
    for (std::uint32_t local = 0; local < ops.size(); ++local) {
      local_of_[ops[local]] = local;
      chains_[local] = chains_of(ops[local]);
      const Op& op = run_.ops()[ops[local]].op;
      if (op.closes) close(found, chains_[local], op);
    }
  }

 private:
  [[nodiscard]] Chains chains_of(std::uint32_t at) const {
    const SampledOp& sampled = run_.ops()[at];
    Chains chains;
    for (const std::uint32_t earlier : run_.needs_of(at)) {
      const Op& before = run_.ops()[earlier].op;
      if (!is_of_microbatch(before.kind) || before.microbatch != sampled.op.microbatch) continue;
      const Chains& more = chains_[local_of_[earlier]];
      chains = chains.empty() ? more : merged(chains, more);
    }
    for (Chain& chain : chains) chain.time += sampled.time;
    if (sampled.op.kind == OpKind::Forward && !sampled.op.continues) {
      const ReplicaId own = run_.replica_at(sampled.op.from, sampled.op);
      chains.insert(std::ranges::lower_bound(chains, own, {}, &Chain::replica), {own, sampled.time});
    }
    return chains;
  }
  void close(Residences& found, Chains& chains, const Op& op) const {
    const ReplicaId own = run_.replica_at(op.from, op);
    const auto chain = std::ranges::find(chains, own, &Chain::replica);
    if (chain == chains.end()) return;
    found[own].push_back({op.microbatch, chain->time});
    chains.erase(chain);
  }

  const SampledRun& run_;
  std::vector<std::uint32_t>& local_of_;  ///< by position in the run: that among its microbatch's operations
  std::vector<Chains> chains_;
};

}  // namespace

Residences residences(const SampledRun& run) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_microbatch;
  for (std::uint32_t at = 0; at < run.ops().size(); ++at) {
    const Op& op = run.ops()[at].op;
    if (is_of_microbatch(op.kind) && run.representatives().has(op.microbatch))
      by_microbatch[op.microbatch].push_back(at);
  }
  Residences found(run.replicas().size());
  std::vector<std::uint32_t> local_of(run.ops().size());
  Flight flight(run, local_of);
  for (const auto& [microbatch, ops] : by_microbatch) flight.add_to(found, ops);
  return found;
}

}  // namespace stagecraft
