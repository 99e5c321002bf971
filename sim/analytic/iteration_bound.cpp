#include "sim/analytic/iteration_bound.hpp"

#include "sim/analytic/one_machine.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kMostKept = 4'000'000;  ///< operations; each takes some 200 bytes
constexpr Seconds kNotAwaited{-1.0};

/// The last backward of a replica, which may be divided into several operations.
struct LastBackward {
  OpKind kind = OpKind::Setup;  ///< until it is found
  std::uint32_t microbatch = 0;
  Seconds from_begin;  ///< the longest chain from its begin to the end of the iteration
};

}  // namespace

bool IterationBound::add(const Op& op, std::span<const OpId> needs, std::span<const LaneId> extra) {
  if (entries_.size() == kMostKept) return false;
  Entry entry;
  entry.op = op;
  entry.time = occupancy_.time_of(op);
  for (OpId earlier : needs) {
    const Entry& before = entries_[earlier.value()];
    entry.head = std::max(entry.head, before.head + before.time);
  }
  dependencies_.insert(dependencies_.end(), needs.begin(), needs.end());
  extra_.insert(extra_.end(), extra.begin(), extra.end());
  entry.dependency_end = static_cast<std::uint32_t>(dependencies_.size());
  entry.extra_end = static_cast<std::uint32_t>(extra_.size());
  entries_.push_back(entry);
  return true;
}

std::span<const OpId> IterationBound::dependencies_of(std::size_t at) const {
  const std::size_t begin = at == 0 ? 0 : entries_[at - 1].dependency_end;
  return std::span(dependencies_).subspan(begin, entries_[at].dependency_end - begin);
}

std::span<const LaneId> IterationBound::extra_of(std::size_t at) const {
  const std::size_t begin = at == 0 ? 0 : entries_[at - 1].extra_end;
  return std::span(extra_).subspan(begin, entries_[at].extra_end - begin);
}

LowerBound IterationBound::finish(const Residences& residences, std::int64_t microbatches) {
  find_tails();
  LowerBound bound;
  for (const Entry& entry : entries_) {
    if (entry.op.kind == OpKind::Barrier) bound.raise_to(entry.head, {});
  }
  raise_to_resources(bound);
  raise_to_in_flight(bound, residences, microbatches);
  return bound;
}

/// From the last operation to the first. On a strict lane the other backwards of a replica end before its last one
/// begins, whichever comes last.
void IterationBound::find_tails() {
  std::vector<LastBackward> last(occupancy_.replicas().size());
  for (std::size_t at = entries_.size(); at-- > 0;) {
    Entry& entry = entries_[at];
    const Op& op = entry.op;
    if (op.kind == OpKind::Barrier) entry.tail = Seconds(0);
    if (is_compute(op.kind) && occupancy_.is_strict(op.lane)) {
      entry.tail = std::max(entry.tail, Seconds(0));
      LastBackward& backward = last[occupancy_.replica_of(op).value()];
      if (op.closes && backward.kind == OpKind::Setup) {
        backward.kind = op.kind;
        backward.microbatch = op.microbatch;
      }
      if (op.kind == backward.kind && op.microbatch == backward.microbatch) {
        backward.from_begin = std::max(backward.from_begin, entry.time + entry.tail);
      } else if (op.closes) {
        entry.tail = std::max(entry.tail, backward.from_begin);
      }
    }
    if (entry.tail == kNotAwaited) continue;
    for (OpId earlier : dependencies_of(at)) {
      Seconds& tail = entries_[earlier.value()].tail;
      tail = std::max(tail, entry.time + entry.tail);
    }
  }
}

void IterationBound::raise_to_resources(LowerBound& bound) {
  std::vector<std::vector<Job>> jobs;
  for (std::size_t at = 0; at < entries_.size(); ++at) {
    const Entry& entry = entries_[at];
    if (entry.tail == kNotAwaited) continue;
    for (const Occupied& part : occupancy_.of(entry.op, extra_of(at))) {
      if (part.time <= Seconds(0)) continue;
      jobs.resize(std::max(jobs.size(), part.resource + 1));
      jobs[part.resource].push_back({entry.head + part.latency, part.time, entry.tail});
    }
  }
  for (std::size_t resource = 0; resource < jobs.size(); ++resource) {
    bound.raise_to(least_completion(std::move(jobs[resource])), occupancy_.cause(resource));
  }
}

void IterationBound::raise_to_in_flight(LowerBound& bound, const Residences& residences,
                                        std::int64_t microbatches) const {
  if (in_flight_.empty()) return;
  const Replicas& replicas = occupancy_.replicas();
  const Seconds never(std::numeric_limits<double>::infinity());
  std::vector<Seconds> heads(replicas.size(), never);
  std::vector<Seconds> tails(replicas.size(), never);
  for (const Entry& entry : entries_) {
    if (!is_compute(entry.op.kind)) continue;
    const ReplicaId replica = occupancy_.replica_of(entry.op);
    Seconds& head = heads[replica.value()];
    Seconds& tail = tails[replica.value()];
    if (entry.op.kind == OpKind::Forward) head = std::min(head, entry.head);
    if (entry.op.closes) tail = std::min(tail, std::max(entry.tail, Seconds(0)));
  }
  for (ReplicaId replica : replicas.all()) {
    const Seconds flown = residences.sum(replica, microbatches);
    if (flown <= Seconds(0)) continue;
    BoundCause cause;
    cause.kind = BoundCause::Kind::InFlight;
    cause.stage = replicas[replica].stage;
    const auto most = static_cast<double>(in_flight_[cause.stage.value()]);
    bound.raise_to(heads[replica.value()] + flown / most + tails[replica.value()], cause);
  }
}

}  // namespace stagecraft
