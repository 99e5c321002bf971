// All-reduces in the explicit form, whose devices may name their nodes.
#include "sim/schedule/all_reduce.hpp"
#include "tests/model/explicit_rails.hpp"
#include "tests/schedule/all_reduce_runs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace stagecraft::all_reduce_test {
namespace {

using Algorithm = CollectiveSpec::Algorithm;

// Rails in the explicit form, whose devices name their nodes: as many rings as the members of a node use NICs, each
// in its own rail. A hierarchical all-reduce sends 2 (k - 1) / k of a g-th of the bytes over each NIC between two
// exchanges inside, and crosses no uplink either.
TEST_CASE("all-reduce: rings of the nodes that an explicit form names stay in their rails") {
  const auto crosses_spine = [](const Platform& platform) {
    const auto crossed = crossings(platform, all_reduce(platform, devices_of(platform), Bytes(1)));
    return std::ranges::any_of(crossed, [](const auto& link) { return link.first.find("spine") != std::string::npos; });
  };
  for (const std::uint32_t devices : {2U, 3U, 4U, 8U}) {
    for (const std::uint32_t nodes : {2U, 3U, 4U, 5U}) {
      CAPTURE(devices);
      CAPTURE(nodes);
      const double n = nodes * devices;
      const double ring = 2 * (n - 1) / n / devices / 25;
      const Platform rings = test::explicit_rails({.nodes = nodes, .devices = devices});
      CHECK(rings_of(rings, devices_of(rings)) == devices);
      CHECK(crosses_spine(rings) == (devices == 2 && nodes % 2 == 1));
      CHECK(iteration(rings, 1'000'000'000) == doctest::Approx(ring).epsilon(1e-6));
      const Platform hierarchical =
          test::explicit_rails({.nodes = nodes, .devices = devices, .algorithm = Algorithm::Hierarchical});
      CHECK_FALSE(crosses_spine(hierarchical));
      CHECK(iteration(hierarchical, 1'000'000'000) ==
            doctest::Approx(2.0 * (devices - 1) / devices / 200 + 2.0 * (nodes - 1) / nodes / devices / 25)
                .epsilon(1e-6));
    }
  }
}

TEST_CASE("all-reduce: as many rings in an explicit form as the devices of a node use NICs") {
  const Platform shared = test::explicit_rails({.devices = 8, .shared_by = 2});
  CHECK(rings_of(shared, devices_of(shared)) == 4);
  CHECK(iteration(shared, 1'000'000'000) == doctest::Approx(2 * 15.0 / 16 / 4 / 25).epsilon(1e-6));
  CHECK(rings_of(shared, these({0, 1, 8, 9})) == 1);
  const Platform unnamed = test::explicit_rails({.devices = 8, .are_named = false});
  CHECK(rings_of(unnamed, devices_of(unnamed)) == 1);
}

// Three devices of one node: a link for each pair carries rings both ways round; one that all pairs share, one ring.
TEST_CASE("all-reduce: several rings in a named node need links of its pairs") {
  const auto rings = [](bool are_shared) {
    PlatformSpec spec = test::built({}).spec;
    ExplicitForm form;
    form.nodes.push_back("box");
    for (const char* name : {"a", "b", "c"}) form.devices.push_back({name, DeviceKindId(0), {}, NodeId(0)});
    if (are_shared) {
      form.links.push_back({"bus", std::nullopt, test::link_of(1e9)});
      form.routes = {{DeviceId(0), DeviceId(1), {0}}, {DeviceId(1), DeviceId(2), {0}}, {DeviceId(2), DeviceId(0), {0}}};
    } else {
      form.default_link = test::link_of(1e9);
    }
    spec.form = std::move(form);
    const Platform platform = build_platform(std::move(spec));
    return rings_of(platform, devices_of(platform));
  };
  CHECK(rings(false) == 2);
  CHECK(rings(true) == 1);
}

}  // namespace
}  // namespace stagecraft::all_reduce_test
