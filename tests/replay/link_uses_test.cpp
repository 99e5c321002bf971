#include "sim/replay/link_uses.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace stagecraft;

TEST_CASE("link uses: a link is one transfer's own until that leaves, or another takes it") {
  LinkUses uses;
  const std::array<std::uint32_t, 2> both = {1, 4};
  const std::array<std::uint32_t, 1> one = {4};
  CHECK(uses.alone_on(4) == LinkUses::kNobody);
  uses.take_alone(both, 7);
  CHECK(uses.alone_on(1) == 7);
  CHECK(uses.alone_on(4) == 7);
  CHECK(uses.alone_on(2) == LinkUses::kNobody);
  uses.take_alone(one, 8);
  uses.leave_alone(both, 7);
  CHECK(uses.alone_on(1) == LinkUses::kNobody);
  CHECK(uses.alone_on(4) == 8);
}

TEST_CASE("link uses: flows are counted on each of their links") {
  LinkUses uses;
  const std::array<std::uint32_t, 2> both = {0, 3};
  const std::array<std::uint32_t, 1> one = {3};
  CHECK_FALSE(uses.has_flows(3));
  uses.add_flow(both);
  uses.add_flow(one);
  uses.remove_flow(both);
  CHECK_FALSE(uses.has_flows(0));
  CHECK(uses.has_flows(3));
  uses.remove_flow(one);
  CHECK_FALSE(uses.has_flows(3));
}
