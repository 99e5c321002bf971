#pragma once

#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/exchange.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// A process of a run of nccl-tests, or one of its GPUs.
struct NcclRank {
  std::uint32_t host = 0;    ///< in the order in which the hosts come first
  std::uint32_t device = 0;  ///< of the host
  friend bool operator==(const NcclRank&, const NcclRank&) = default;
};

/// One time of a row: of the exchange with two buffers, or in place.
struct NcclTime {
  Bytes size;  ///< of the whole tensor
  Seconds time;
  InputPlace place;
};

/// One table of nccl-tests.
struct NcclTable {
  Exchange::Kind kind = Exchange::Kind::AllReduce;
  std::vector<NcclRank> ranks;
  std::vector<NcclTime> times;
  InputPlace place;  ///< of the line that names its columns
};

/// What a program of nccl-tests prints, one table or several one after the other. Each has its ranks before it, in
/// lines `#  Rank  0 … on HOST device  0 …`; where ranks of a host have the same device, its k-th rank has the k-th.
///
/// The kind of the exchange is what a line `# Collective test starting:` names: an all-reduce, an all-gather or a
/// reduce-scatter. Without it an exchange that has a reduction is an all-reduce if its bus bandwidth is 2 (n - 1) / n
/// of the bandwidth, and a reduce-scatter if it is half of that.
///
/// Rows of no bytes are left out, and so are columns `N/A`. **Throws** InputError naming line and column for a row that
/// is none, a table without ranks, of one rank or without rows, a unit other than us, and an exchange that is not
/// known.
/// **Source** the programs of NVIDIA/nccl-tests.
[[nodiscard]] std::vector<NcclTable> parse_nccl_tests(std::string_view text, const std::string& file_name);

}  // namespace stagecraft
