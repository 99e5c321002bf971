#pragma once

#include "sim/model/platform.hpp"
#include "tests/schedule/chains.hpp"

#include <cstddef>
#include <cstdint>

namespace stagecraft::testing {

/// What a test chooses of a platform whose devices have a host each.
struct Hosts {
  double link = 1e9;  ///< bytes per second between a device and its host, in each direction
  double latency = 0.0;
  std::int64_t memory = std::int64_t{1} << 50;
  Transport transport = Transport::Host;
  Duplex duplex = Duplex::Full;
};

/// The devices of `pairwise`, each with a host of its own.
inline Platform over_hosts(std::size_t devices, double bandwidth, const Hosts& hosts, double latency = 0.0,
                           Sharing sharing = Sharing::Fair) {
  PlatformSpec spec = pairwise(devices, bandwidth, latency, Duplex::Full, sharing).spec;
  spec.transport = hosts.transport;
  const LinkSpec link{BytesPerSecond(hosts.link), Seconds(hosts.latency), hosts.duplex, Sharing::Fair};
  for (ExplicitDevice& device : std::get<ExplicitForm>(spec.form).devices) {
    device.host = HostSpec{Bytes(hosts.memory), link, 1};
  }
  return build_platform(std::move(spec));
}

}  // namespace stagecraft::testing
