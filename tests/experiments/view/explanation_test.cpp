#include "experiments/view/explanation.hpp"

#include "tests/planners/fixtures.hpp"
#include "tests/schedule/over_hosts.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

TEST_CASE("explanation: a host that lacks memory is named, with what it holds at its peak") {
  const Platform platform = testing::over_hosts(2, 1e9, {.memory = 1024, .transport = Transport::Host});
  Report report;
  HostReport host;
  host.host = HostId(1);
  host.memory.peak = Bytes(4096);
  host.memory.capacity = Bytes(1024);
  host.memory.breakdown = {Bytes(0), Bytes(0), Bytes(0), Bytes(3072), Bytes(1024), Bytes(0)};
  report.hosts = {host};
  report.overflows = {{platform.place(HostId(1)), Seconds(2), Bytes(3072)}};
  CHECK(overflow_text(report, platform, {}) ==
        "out of memory: gpu1.host lacks 3 KiB, first after 2 s\n"
        "  at its peak gpu1.host holds 4 KiB of 1 KiB:\n"
        "    stash 3 KiB, buffers 1 KiB\n"
        "  no change is tried where a host lacks memory. A host holds swapped stashes (stash), boundary tensors on\n"
        "  their way (buffers) and old weight versions (weights): a plan that swaps less needs less\n");
}

}  // namespace
}  // namespace stagecraft
