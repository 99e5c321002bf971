#pragma once

#include "sim/io/kineto_trace.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// A kernel of NCCL: what one rank does in a transfer or a collective.
struct TransferEnd {
  Nanoseconds start = 0;  ///< on the clock of all ranks
  Nanoseconds duration = 0;
  Bytes bytes{-1};  ///< -1: not told
};

/// An end with what it is part of.
struct TransferKernel {
  std::string kind;
  std::int64_t rank = 0;
  TransferEnd end;
};

/// Transfers of one kind, such as `allreduce`, together. Times and bytes are sums over kernels.
struct TransferKind {
  std::string kind;
  std::int64_t group_size = -1;  ///< ranks of the largest group; -1: not told
  std::size_t operations = 0;
  std::size_t kernels = 0;
  std::optional<Bytes> bytes;  ///< none: a kernel does not tell
  Nanoseconds waiting = 0;     ///< until the last one of the ends that are known has started
  Nanoseconds moving = 0;      ///< afterwards
  Nanoseconds alone = 0;       ///< of kernels to which no other end was found
  Bytes moved_bytes;           ///< of kernels whose time is in `moving`, if `bytes` is given
  std::size_t incomplete = 0;  ///< operations of which fewer ends were found than the group has, or nobody knows
};

/// Takes the kernels of NCCL from traces of several ranks and finds the ends of each transfer. Ends of one transfer
/// have the same kind and process group, and sends and receives the same pair of ranks. None of them ends before all
/// have started: so the kernel that ends first belongs together with, of each other rank, the one that ends first among
/// those that started before its end; the same holds for the kernels that are left. Between two ranks no other choice
/// finds more transfers. The clocks of the traces have to agree.
class TransferTable {
 public:
  /// The rank is that of the trace, or the number of traces added before.
  /// **Throws** InputError for a rank that another trace has.
  void add(const KinetoTrace& trace);

  /// All kernels that were added, with their kinds, rank after rank in each group.
  [[nodiscard]] std::vector<TransferKernel> kernels() const;

  /// By kind. **Cost** O(kernels · (ranks + log kernels)).
  [[nodiscard]] std::vector<TransferKind> kinds() const;

 private:
  /// Ends that may belong together, of each rank in the order of their starts.
  struct Group {
    std::map<std::int64_t, std::vector<TransferEnd>> ends;
    std::int64_t size = -1;
  };
  std::map<std::pair<std::string, std::string>, Group> groups_;  ///< by kind and process group
  std::map<std::int64_t, std::string> files_;                    ///< by rank
};

/// What the kernel of NCCL does, by its name: `ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)` is an `AllReduce`; empty for
/// other kernels.
[[nodiscard]] std::string nccl_operation(const std::string& kernel);

}  // namespace stagecraft
