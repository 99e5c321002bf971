#pragma once

#include <string>

namespace stagecraft::test {

/// The bus bandwidth of an all-reduce of 4 GiB among all devices of a shipped platform, 2 (n - 1) / n of the bytes over
/// its time, as nccl-tests print it: `all-reduce=PLATFORM` and, if wanted, what differs from the file:
///
///     nodes=2           so many nodes of its first kind
///     nics=4            so many NICs in each, every one for as many neighbouring devices
///     algorithm=ring    in place of `auto`
///     over=86    how far the bandwidth is above this one, in GB/s, in place of the bandwidth
///
/// **Throws** InputError for another key, a platform that is not of nodes, and nodes that cannot be so.
[[nodiscard]] std::string all_reduce_text(const std::string& argument);

}  // namespace stagecraft::test
