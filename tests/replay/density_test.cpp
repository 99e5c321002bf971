#include "sim/replay/density.hpp"

#include "tests/replay/clusters.hpp"
#include "tests/replay/runs.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace stagecraft {
namespace {

using Routes = std::vector<std::vector<std::uint32_t>>;

std::vector<std::span<const std::uint32_t>> spans(const Routes& routes) { return {routes.begin(), routes.end()}; }

/// `count` transfers from a link of their own over one link for all.
Routes gathered(std::uint32_t count) {
  Routes routes;
  for (std::uint32_t i = 0; i < count; ++i) routes.push_back({i + 1, 0});
  return routes;
}

TEST_CASE("replay density: a chain of shared links joins transfers") {
  CHECK(largest_group({}) == 0);
  CHECK(largest_group(spans({{0, 1}, {2, 3}})) == 1);
  CHECK(largest_group(spans({{0, 1}, {4}, {2, 3}, {1, 2}})) == 3);
  CHECK(largest_group(spans(gathered(300))) == 300);
}

TEST_CASE("replay density: many transfers, most of them joined") {
  CHECK_FALSE(is_dense(spans(gathered(255))));
  CHECK(is_dense(spans(gathered(256))));
  Routes routes = gathered(256);
  for (std::uint32_t i = 0; i < 256; ++i) routes.push_back({1000 + i});
  CHECK(is_dense(spans(routes)));
  routes.push_back({2000});
  CHECK_FALSE(is_dense(spans(routes)));
}

// 256 transfers of each size from the even leaf to the odd one of each pair, two from each device: a leaf's uplink of
// 16 x 8 x 50 / 2 = 3200 GB/s is full, a device's NIC is not. The smaller ones end when all have moved a gigabyte.
TEST_CASE("replay: rates are the same where all of them are worked out at once") {
  const Platform platform = test::cluster_of_eights(64, test::half_fat_tree());
  test::Work work(512);
  std::vector<OpId> small;
  std::vector<OpId> large;
  for (std::uint32_t device = 0; device < 512; ++device) {
    if (device / 128 % 2 != 0) continue;
    small.push_back(work.send(device, device + 128, 1'000'000'000));
    large.push_back(work.send(device, device + 128, 3'000'000'000));
  }
  const test::Times times = test::replayed(platform, work);
  const double latency = 6e-6;
  for (OpId id : small) CHECK(times.at(id).second == doctest::Approx(latency + 2 * 128 * 1.0 / 3200).epsilon(1e-9));
  for (OpId id : large) CHECK(times.at(id).second == doctest::Approx(latency + 128 * 4.0 / 3200).epsilon(1e-9));
}

}  // namespace
}  // namespace stagecraft
