#include "sim/engine/exclusive_links.hpp"

#include "tests/engine/hand_made.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace stagecraft;
using namespace stagecraft::hand_made;

namespace {

Op send(std::uint32_t from, std::uint32_t to) {
  Op op;
  op.kind = OpKind::Activation;
  op.from = PlaceId(from);
  op.to = PlaceId(to);
  op.bytes = Bytes(1);
  return op;
}

std::vector<Resource*> needed(ExclusiveLinks& links, std::uint64_t op) {
  std::vector<Resource*> resources;
  links.append(op, resources);
  return resources;
}

}  // namespace

TEST_CASE("exclusive links: transfers over one link need the same, both ways where the link is half duplex") {
  const Platform three = platform({.devices = 3, .duplex = Duplex::Half, .sharing = Sharing::Exclusive});
  ExclusiveLinks links(three);
  CHECK(links.exist());
  CHECK(links.find(0, send(0, 1)));
  CHECK(links.find(1, send(1, 0)));
  CHECK(links.find(2, send(0, 2)));
  CHECK(needed(links, 0).size() == 1);
  CHECK(needed(links, 0) == needed(links, 1));
  CHECK(needed(links, 0) != needed(links, 2));
}

TEST_CASE("exclusive links: what crosses no link needs none, nor does a transfer that has ended") {
  const Platform two = platform({.sharing = Sharing::Exclusive});
  ExclusiveLinks links(two);
  CHECK_FALSE(links.find(0, send(1, 1)));
  CHECK(needed(links, 0).empty());
  CHECK(links.find(1, send(0, 1)));
  links.forget(1);
  CHECK(needed(links, 1).empty());
}

TEST_CASE("exclusive links: fair links are nobody's") {
  const Platform two = platform();
  ExclusiveLinks links(two);
  CHECK_FALSE(links.exist());
}
