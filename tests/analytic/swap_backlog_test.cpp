// Forwards that wait for copies to the host (`Stage::swap_backlog`), against closed forms.
#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

constexpr std::int64_t kSwapped = 8;

Platform with_hosts(std::size_t devices, double bandwidth) {
  PlatformSpec spec = pairwise(devices).spec;
  for (ExplicitDevice& device : std::get<ExplicitForm>(spec.form).devices) {
    device.host = HostSpec{Bytes(1'000'000), LinkSpec{BytesPerSecond(bandwidth), Seconds(0)}, 1};
  }
  return build_platform(std::move(spec));
}

/// One stage of one layer, f = 1, b = 2; a copy takes 2 s. Copies come back when their backward is next.
Report three_microbatches(std::optional<std::int64_t> backlog) {
  Plan plan = straight(1, 3, "gpipe");
  plan.stages[0].memory = {Swap{{LayerId(0)}, false}};
  plan.stages[0].swap_backlog = backlog;
  return evaluate_plan(chain(1, 1, 2, 0, kSwapped), with_hosts(1, 4), plan);
}

}  // namespace

// Without a limit forwards run 0-3 and copies leave 1-3, 3-5, 5-7. Copies back and backwards: 3-5, 5-7, 7-9, 9-11,
// 11-13, 13-15. With none left to make, forwards run 0-1, 3-4, 6-7, and the first copy comes back 7-9.
TEST_CASE("swap backlog: a forward waits until no more copies than that are left") {
  const Report free = three_microbatches(std::nullopt);
  CHECK(free.iterations.back() == Seconds(15));
  CHECK(free.devices[0].memory.peak.value() == 3 * kSwapped);
  CHECK(three_microbatches(2).iterations.back() == Seconds(15));  // only three are there
  const Report none = three_microbatches(0);
  CHECK(none.iterations.back() == Seconds(19));
  CHECK(none.devices[0].memory.peak.value() == 2 * kSwapped);  // the last one leaves while the first one comes back
  // One may be left: forwards 0-1, 1-2, 3-4. The first copy comes back from 4 on, while the second one leaves until 5.
  const Report one = three_microbatches(1);
  CHECK(one.iterations.back() == Seconds(16));
  CHECK(one.devices[0].memory.peak.value() == 3 * kSwapped);
}

// Links from a tenth of what would hide the copies to ten times that.
TEST_CASE("swap backlog: with N left N + 3 microbatches are on the device, however slow the link is") {
  constexpr std::size_t kStages = 6;
  for (const char* schedule : {"pipedream", "1f1b", "gpipe", "eager-1f1b"}) {
    for (int at = 0; at < 20; ++at) {
      const double bandwidth = 0.25 * std::pow(1.7, at / 2);
      const std::int64_t backlog = at % 2;
      CAPTURE(schedule);
      CAPTURE(bandwidth);
      CAPTURE(backlog);
      Plan plan = straight(kStages, 64, schedule);
      for (Stage& stage : plan.stages) {
        stage.memory = {Swap{stage.layers}};
        stage.swap_backlog = backlog;
      }
      const Report report = evaluate_plan(chain(kStages, 1, 2, 0, kSwapped), with_hosts(kStages, bandwidth), plan);
      for (const DeviceReport& device : report.devices) {
        CHECK(device.memory.peak.value() <= (backlog + 3) * kSwapped);
      }
    }
  }
}

}  // namespace stagecraft
