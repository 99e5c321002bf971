#pragma once

#include "sim/base/index.hpp"
#include "sim/io/import_nccl_tests.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// Constants of a platform's collectives (docs/reference/formats/platform.md).
struct CollectiveConstants {
  Seconds latency;     ///< of an all-reduce inside a node
  double node = 1;     ///< share of the bandwidth of links that is reached inside a node
  double network = 1;  ///< the same between nodes
};

/// How far predicted times are from measured ones.
struct CollectiveErrors {
  double root_mean_square = 0;  ///< of the logarithms of their ratios
  double worst = 0;             ///< predicted over measured, less 1
  Bytes worst_size;
};

/// The tables of one kind of exchange among as many ranks on as many nodes.
struct CollectiveGroup {
  Exchange::Kind kind = Exchange::Kind::AllReduce;
  std::vector<DeviceId> members;
  std::size_t nodes = 1;
  std::vector<NcclTime> times;
  CollectiveConstants
      alone;  ///< fitted to these times alone: latency, and the share between nodes if there are several
  CollectiveErrors errors_alone;
  CollectiveErrors errors;       ///< with the constants of all groups
  BytesPerSecond bus_bandwidth;  ///< that `alone` reaches for large tensors
};

struct CollectiveFit {
  std::vector<CollectiveGroup> groups;  ///< in the order of their first tables
  CollectiveConstants constants;        ///< fitted to all groups; a share that no group has is the platform's
  bool has_node = false;                ///< a group inside a node
  bool has_network = false;             ///< a group on several nodes
  CollectiveErrors errors;
};

/// Fits the constants to tables: a time is the collective's latency, as often as the kind and the nodes have it, those
/// of the links on its way, and the bytes that cross the narrowest links over the share of their bandwidth. The sum of
/// the squared logarithms of predicted over measured times is least. Rank r of host h is a device of node h.
///
/// **Throws** InputError, at a table, for hosts or devices that the platform does not have, and for a group that has
/// less than two sizes. **Cost** O(evaluations · (times + flows of each group)).
[[nodiscard]] CollectiveFit fit_collectives(const Platform& platform, const std::vector<NcclTable>& tables);

/// The platform's collectives with these constants, in place of a table of bandwidths if it has one. A share that was
/// not fitted stays as it is.
[[nodiscard]] CollectiveSpec with_constants(const CollectiveSpec& spec, const CollectiveFit& fit);

}  // namespace stagecraft
