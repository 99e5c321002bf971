#include "experiments/measured/kineto_transfers.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <string_view>

namespace stagecraft {
namespace {

constexpr const char* kSendReceive = "send, recv";
constexpr std::size_t kMostOperationBytes = 64;
constexpr Bytes kMostSummed{std::int64_t{1} << 60};

const KinetoMessage& message_of_kernel(const KinetoTrace& trace, const KinetoKernel& kernel) {
  static const KinetoMessage kNone;
  return kernel.message < 0 ? kNone : trace.messages[static_cast<std::size_t>(kernel.message)];
}

/// The ranks of a send or a receive, or nothing.
std::string pair_of(const KinetoMessage& message, std::int64_t rank) {
  if (message.collective == "send" && message.target_rank >= 0) {
    return std::to_string(rank) + " to " + std::to_string(message.target_rank);
  }
  if (message.collective == "recv" && message.source_rank >= 0) {
    return std::to_string(message.source_rank) + " to " + std::to_string(rank);
  }
  return "";
}

bool is_pairwise(const KinetoMessage& message) { return message.collective == "send" || message.collective == "recv"; }

void add_bytes(const TransferEnd& end, bool is_first, TransferKind& kind) {
  if (end.bytes < Bytes(0) || (!is_first && !kind.bytes)) {
    kind.bytes.reset();
  } else {
    kind.bytes = std::min(kind.bytes.value_or(Bytes(0)) + end.bytes, kMostSummed);
  }
}

/// Splits the time of each end at the start of the last one.
void split(const std::vector<TransferEnd>& ends, TransferKind& kind) {
  if (ends.size() < 2) {
    kind.alone += ends.front().duration;
    return;
  }
  const Nanoseconds last = std::ranges::max(ends, {}, &TransferEnd::start).start;
  for (const TransferEnd& end : ends) {
    kind.waiting += last - end.start;
    kind.moving += end.duration - (last - end.start);
    kind.moved_bytes = std::min(kind.moved_bytes + std::max(end.bytes, Bytes(0)), kMostSummed);
  }
}

Nanoseconds end_of(const TransferEnd& end) { return end.start + end.duration; }

/// The kernels of a rank that are in no transfer yet.
class RankEnds {
 public:
  explicit RankEnds(std::vector<TransferEnd> ends) : ends_(std::move(ends)), first_end_(ends_.size()) {
    std::ranges::stable_sort(ends_, {}, [](const TransferEnd& end) { return std::pair(end.start, end.duration); });
    Nanoseconds first = kNever;
    for (std::size_t i = ends_.size(); i-- > 0;) first_end_[i] = first = std::min(first, end_of(ends_[i]));
  }

  /// The end of the one that ends first.
  [[nodiscard]] Nanoseconds first_end() const {
    const Nanoseconds later = at_ == ends_.size() ? kNever : first_end_[at_];
    return started_.empty() ? later : std::min(later, started_.top().first);
  }

  /// Takes the one that ends first of those that started before a time, or that end at it.
  [[nodiscard]] std::optional<TransferEnd> take(Nanoseconds time) {
    while (at_ < ends_.size() && (ends_[at_].start < time || end_of(ends_[at_]) == time)) {
      started_.emplace(end_of(ends_[at_]), at_);
      ++at_;
    }
    if (started_.empty()) return std::nullopt;
    const std::size_t taken = started_.top().second;
    started_.pop();
    return ends_[taken];
  }

  static constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

 private:
  using EndAt = std::pair<Nanoseconds, std::size_t>;  ///< the end of the kernel at a position
  std::vector<TransferEnd> ends_;                     ///< in the order of their starts
  std::vector<Nanoseconds> first_end_;                ///< of those from a position on
  std::priority_queue<EndAt, std::vector<EndAt>, std::greater<>> started_;
  std::size_t at_ = 0;  ///< of the first one that was not put into `started_`
};

/// The transfers of a group, one after the other.
class Matching {
 public:
  explicit Matching(const std::map<std::int64_t, std::vector<TransferEnd>>& ends) {
    for (const auto& [rank, list] : ends) left_.emplace_back(list);
  }

  /// The ends of the next transfer; empty after the last one.
  std::vector<TransferEnd> next() {
    Nanoseconds first_end = RankEnds::kNever;
    for (const RankEnds& rank : left_) first_end = std::min(first_end, rank.first_end());
    std::vector<TransferEnd> ends;
    if (first_end == RankEnds::kNever) return ends;
    for (RankEnds& rank : left_) {
      if (const std::optional<TransferEnd> end = rank.take(first_end)) ends.push_back(*end);
    }
    return ends;
  }

 private:
  std::vector<RankEnds> left_;
};

}  // namespace

std::string nccl_operation(const std::string& kernel) {
  if (!kernel.starts_with("nccl")) return "";
  const std::size_t mark = kernel.find("Kernel_");
  if (mark == std::string::npos) return "nccl";
  const std::string rest = kernel.substr(mark + std::string_view("Kernel_").size());
  return rest.substr(0, std::min(rest.find_first_of("_("), kMostOperationBytes));
}

void TransferTable::add(const KinetoTrace& trace) {
  const std::int64_t rank = trace.rank.value_or(std::ssize(files_));
  const auto [entry, is_new] = files_.try_emplace(rank, trace.file);
  if (!is_new) {
    throw InputError("is the trace of rank " + std::to_string(rank) + ", as " + quote(entry->second) + " is",
                     {trace.file, 0, 0, ""}, "give one file for each rank");
  }
  std::vector<const KinetoKernel*> kernels;
  for (const KinetoKernel& kernel : trace.kernels) {
    if (trace.names[kernel.name].starts_with("nccl")) kernels.push_back(&kernel);
  }
  std::ranges::stable_sort(kernels, {}, [](const KinetoKernel* kernel) { return kernel->start; });
  for (const KinetoKernel* kernel : kernels) {
    const KinetoMessage& message = message_of_kernel(trace, *kernel);
    std::string kind = message.collective.empty() ? nccl_operation(trace.names[kernel->name]) : message.collective;
    if (is_pairwise(message)) kind = kSendReceive;
    const std::string name = kernel->message < 0 ? "" : trace.names[message.group];
    Group& group = groups_[{kind, name + " " + pair_of(message, rank)}];
    group.ends[rank].push_back({trace.base_time + kernel->start, kernel->duration, message.bytes});
    group.size = std::max(group.size, is_pairwise(message) ? 2 : message.group_size);
  }
}

std::vector<TransferKernel> TransferTable::kernels() const {
  std::vector<TransferKernel> list;
  for (const auto& [key, group] : groups_) {
    for (const auto& [rank, ends] : group.ends) {
      for (const TransferEnd& end : ends) list.push_back({key.first, rank, end});
    }
  }
  return list;
}

std::vector<TransferKind> TransferTable::kinds() const {
  std::vector<TransferKind> kinds;
  for (const auto& [key, group] : groups_) {
    if (kinds.empty() || kinds.back().kind != key.first) kinds.emplace_back().kind = key.first;
    TransferKind& kind = kinds.back();
    kind.group_size = std::max(kind.group_size, group.size);
    Matching matching(group.ends);
    for (auto ends = matching.next(); !ends.empty(); ends = matching.next()) {
      ++kind.operations;
      for (const TransferEnd& end : ends) add_bytes(end, kind.kernels++ == 0, kind);
      if (group.size < 0 || group.size > std::ssize(ends)) ++kind.incomplete;
      split(ends, kind);
    }
  }
  return kinds;
}

}  // namespace stagecraft
