#include "sim/analytic/iteration_bound.hpp"

#include "sim/analytic/occupancy.hpp"
#include "sim/analytic/one_machine.hpp"
#include "sim/analytic/residences.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace stagecraft {
namespace {

constexpr Seconds kNotAwaited{-1.0};  ///< the tail of what the iteration does not wait for

/// The last backward of a replica, which may be divided into several operations.
struct LastBackward {
  OpKind kind = OpKind::Setup;  ///< until it is found
  std::uint32_t microbatch = 0;
  Seconds from_begin;  ///< the longest chain from its begin to the end of the iteration
};

/// By operation. From the last one to the first: on a strict lane the other backwards of a replica end before its last
/// one begins, whichever comes last.
std::vector<Seconds> tails_of(const SampledRun& run) {
  std::vector<Seconds> tails(run.ops().size(), kNotAwaited);
  std::vector<LastBackward> last(run.replicas().size());
  for (std::size_t at = tails.size(); at-- > 0;) {
    const SampledOp& sampled = run.ops()[at];
    const Op& op = sampled.op;
    Seconds& tail = tails[at];
    if (op.kind == OpKind::Barrier) tail = Seconds(0);
    if (is_compute(op.kind) && run.is_strict(op.lane)) {
      tail = std::max(tail, Seconds(0));
      LastBackward& backward = last[run.replica_at(op.from, op).value()];
      if (op.closes && backward.kind == OpKind::Setup) {
        backward.kind = op.kind;
        backward.microbatch = op.microbatch;
      }
      // A group's exchange at its end says nothing of where it begins: forwards have some, too.
      const bool is_own = op.microbatch == backward.microbatch && op.kind != OpKind::Exchange;
      if (backward.kind == OpKind::Exchange && is_own) backward.kind = op.kind;
      if (op.kind == backward.kind && op.microbatch == backward.microbatch) {
        backward.from_begin = std::max(backward.from_begin, sampled.time + tail);
      } else if (op.closes) {
        tail = std::max(tail, backward.from_begin);
      }
    }
    if (tail == kNotAwaited) continue;
    for (const std::uint32_t earlier : run.needs_of(at)) {
      tails[earlier] = std::max(tails[earlier], sampled.time + tail);
    }
  }
  return tails;
}

/// Of a replica.
struct Ends {
  Seconds head{std::numeric_limits<double>::infinity()};  ///< the least before a forward
  Seconds tail = head;                                    ///< the least after a backward
};

class IterationBound {
 public:
  IterationBound(const SampledRun& run, std::int64_t microbatches)
      : run_(run),
        counts_(run.representatives().counts(microbatches)),
        tails_(tails_of(run)),
        ends_(run.replicas().size()) {
    for (std::size_t at = 0; at < run.ops().size(); ++at) note_ends(at);
  }

  void raise_to_chains(LowerBound& bound) const {
    for (const SampledOp& sampled : run_.ops()) {
      if (sampled.op.kind == OpKind::Barrier) bound.raise_to(sampled.head, {});
    }
  }

  void raise_to_resources(LowerBound& bound, bool shares_links) const {
    Occupancy occupancy(run_, shares_links);
    std::vector<std::vector<Job>> jobs;
    for (std::size_t at = 0; at < run_.ops().size(); ++at) {
      const SampledOp& sampled = run_.ops()[at];
      if (tails_[at] == kNotAwaited) continue;
      const bool stands_for_others = is_of_microbatch(sampled.op.kind) && !run_.takes_all();
      const double times = stands_for_others ? count(sampled.op.microbatch) : 1.0;
      for (const Occupied& part : occupancy.of(at)) {
        if (part.time <= Seconds(0)) continue;
        jobs.resize(std::max(jobs.size(), part.resource + 1));
        jobs[part.resource].push_back({sampled.head + part.latency, part.time * times, tails_[at]});
      }
    }
    for (std::size_t resource = 0; resource < jobs.size(); ++resource) {
      bound.raise_to(least_completion(std::move(jobs[resource])), occupancy.cause(resource));
    }
  }

  void raise_to_in_flight(LowerBound& bound, const std::vector<std::int64_t>& most) const {
    if (most.empty()) return;
    const auto found = residences(run_);
    for (const ReplicaId replica : run_.replicas().all()) {
      Seconds sum;
      for (const Residence& residence : found[replica]) sum += residence.time * count(residence.microbatch);
      if (sum <= Seconds(0)) continue;
      BoundCause cause;
      cause.kind = BoundCause::Kind::InFlight;
      cause.stage = run_.replicas()[replica].stage;
      const auto places = static_cast<double>(most[cause.stage.value()]);
      bound.raise_to(ends_[replica].head + sum / places + ends_[replica].tail, cause);
    }
  }

 private:
  [[nodiscard]] double count(std::uint32_t microbatch) const {
    return static_cast<double>(run_.representatives().count(microbatch, counts_));
  }

  void note_ends(std::size_t at) {
    const SampledOp& sampled = run_.ops()[at];
    const Op& op = sampled.op;
    if (!is_compute(op.kind)) return;
    Ends& ends = ends_[run_.replica_at(op.from, op)];
    if (op.kind == OpKind::Forward) ends.head = std::min(ends.head, sampled.head);
    if (op.closes) ends.tail = std::min(ends.tail, std::max(tails_[at], Seconds(0)));
  }

  const SampledRun& run_;
  std::vector<std::int64_t> counts_;
  std::vector<Seconds> tails_;
  IndexVector<ReplicaId, Ends> ends_;
};

}  // namespace

LowerBound iteration_bound(const SampledRun& iteration, std::int64_t microbatches,
                           const std::vector<std::int64_t>& in_flight, bool shares_links) {
  const IterationBound of(iteration, microbatches);
  LowerBound bound;
  of.raise_to_resources(bound, shares_links);
  of.raise_to_in_flight(bound, in_flight);
  of.raise_to_chains(bound);
  return bound;
}

}  // namespace stagecraft
