// Networks as one member of an expert group has them: e members. A token has 64 values of two bytes and visits 2 of 8
// experts, each with three products of 64 x 32; samples have 16 tokens.
#include "sim/workload/architecture.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/workload/group_networks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::expert_group_test {

using namespace group_networks;

namespace {

constexpr std::int64_t kExpert = 3 * 64 * 32;  ///< parameters

Architecture small_mixtral(std::int64_t sequence = 16) {
  DecoderSize size = small_decoder("mixtral");
  size.sequence = sequence;
  return decoder("m", size);
}

const Operator& operator_of(const Architecture& net, const std::string& name) {
  return *std::ranges::find(net.operators, "block0.experts." + name, &Operator::name);
}

Exchange exchange(std::int64_t bytes, std::int64_t count) {
  return {.kind = Exchange::Kind::AllToAll, .bytes = Bytes(bytes), .count = count, .among = Exchange::Among::Expert};
}

std::vector<Exchange> of_experts(std::vector<Exchange> exchanges) {
  std::erase_if(exchanges, [](const Exchange& each) { return each.among != Exchange::Among::Expert; });
  return exchanges;
}

/// Rows that the experts of a member get of one sample.
std::int64_t rows(const Architecture& net, const Degrees& degrees) {
  return operator_of(member_of(net, degrees), "expert_up").macs / (64 * 32);
}

}  // namespace

TEST_CASE("expert group: a group of one has the network itself, whatever the imbalance") {
  const Architecture net = small_mixtral();
  CHECK(member_of(net, {.imbalance = 2.0}) == net);
  CHECK(member_of(net, {.tensor = 2, .imbalance = 2.0}) == member_of(net, {.tensor = 2}));
  CHECK(of_experts(layer_of(graph_of(net, {.tensor = 2}), "block0").forward_exchanges).empty());
}

TEST_CASE("expert group: a member has its part of the experts, and all else") {
  const Architecture net = small_mixtral();
  const LayerGraph whole = graph_of(net, {});
  for (const std::int64_t members : {2, 4, 8}) {
    const LayerGraph part = graph_of(net, {.expert = members});
    CHECK(part.copies == Copies{members, 1});
    for (const LayerId id : indices(whole.layers)) {
      const Layer& layer = whole.layers[id];
      const bool is_block = layer.name.starts_with("block");
      CHECK(layer.experts.value() == (is_block ? 2 * 8 * kExpert : 0));
      CHECK(part.layers[id].experts.value() * members == layer.experts.value());
      CHECK(part.layers[id].parameters - part.layers[id].experts == layer.parameters - layer.experts);
    }
  }
}

TEST_CASE("expert group: members of a tensor group have experts of their own where the groups are the same devices") {
  const Architecture net = small_mixtral();
  const auto experts = [&](const Degrees& degrees) { return layer_of(graph_of(net, degrees), "block0").experts; };
  CHECK(experts({.tensor = 4}).value() == 2 * 8 * kExpert);
  CHECK(experts({.tensor = 4, .expert = 4}).value() == 2 * 2 * kExpert);
  CHECK(graph_of(net, {.tensor = 4}).copies == Copies{1, 4});
  CHECK(graph_of(net, {.tensor = 4, .expert = 2}).copies == Copies{1, 2});
  CHECK(graph_of(net, {.tensor = 2, .context = 2, .expert = 8}).copies == Copies{4, 1});
}

// R K h values: R tokens of the member, K = 2.
TEST_CASE("expert group: vectors go to the members that have their experts and back, in both directions") {
  const auto check = [](const Degrees& degrees, std::int64_t tokens) {
    const Layer block = layer_of(graph_of(small_mixtral(), degrees, Granularity::Block, 3), "block1");
    const std::vector expected{exchange(2 * tokens * 2 * 64 * 3, 2)};
    CHECK(of_experts(block.forward_exchanges) == expected);
    CHECK(of_experts(block.backward_exchanges) == expected);
  };
  check({.expert = 4}, 16);
  check({.tensor = 2, .expert = 4}, 8);
  check({.tensor = 2, .sequence = false, .expert = 4}, 16);
  check({.tensor = 2, .context = 2, .expert = 4}, 4);
}

TEST_CASE("expert group: each half of a block is left by one exchange of the tensor group, with experts too") {
  const Architecture net = small_mixtral();
  for (const bool sequence : {false, true}) {
    const auto others = [&](std::int64_t members) {
      const Degrees degrees{.tensor = 2, .sequence = sequence, .expert = members};
      std::vector<Exchange> exchanges = layer_of(graph_of(net, degrees), "block1").forward_exchanges;
      std::erase_if(exchanges, [](const Exchange& each) { return each.among == Exchange::Among::Expert; });
      return exchanges;
    };
    CHECK(others(4) == others(1));
  }
}

TEST_CASE("expert group: balanced experts get as many tokens as the member has; the busiest more, rounded up") {
  const Architecture net = small_mixtral();
  CHECK(rows(net, {.expert = 4}) == 32);
  CHECK(rows(net, {.tensor = 2, .expert = 4}) == 16);
  CHECK(rows(net, {.expert = 4, .imbalance = 1.25}) == 40);
  CHECK(rows(net, {.expert = 4, .imbalance = 1.1}) == 36);  // 35.2
  CHECK(rows(small_mixtral(20), {.expert = 4, .imbalance = 1.1}) == 44);
  CHECK(rows(net, {.expert = 4, .imbalance = 4.0}) == 128);
  CHECK(rows(net, {.expert = 4, .imbalance = 5.0}) == 160);  // a capacity pads beyond all tokens
}

// The busiest member keeps of its tokens what goes into the experts, 3 times the inner size, and what comes out.
TEST_CASE("expert group: the busiest member takes longer, exchanges more and keeps more") {
  const Architecture net = small_mixtral();
  const LayerGraph mean = graph_of(net, {.expert = 4}, Granularity::Operator);
  const LayerGraph most = graph_of(net, {.expert = 4, .imbalance = 1.5}, Granularity::Operator);
  CHECK(layer_of(most, "block0.experts.dispatch").forward_exchanges == std::vector{exchange(2 * 48 * 64, 1)});
  CHECK(layer_of(most, "block0.experts.combine").backward_exchanges == std::vector{exchange(2 * 48 * 64, 1)});
  CHECK(layer_of(most, "block0.experts.router") == layer_of(mean, "block0.experts.router"));
  const auto stash = [&](double imbalance) {
    return layer_of(graph_of(net, {.expert = 4, .imbalance = imbalance}), "block0").stash.value();
  };
  CHECK(stash(1.5) - stash(1.0) == 2 * 16 * (64 + 3 * 32 + 64));
  const Architecture large = find_architecture("mixtral-8x7b").value();
  const auto forward = [&](double imbalance) {
    return layer_of(graph_of(large, {.expert = 4, .imbalance = imbalance}), "block0").forward;
  };
  CHECK(forward(1.5) > forward(1.0));
}

TEST_CASE("expert group: the vectors that a member sends are there beside those that it gets") {
  const LayerGraph one = graph_of(small_mixtral(), {}, Granularity::Operator);
  const LayerGraph part = graph_of(small_mixtral(), {.expert = 4}, Granularity::Operator);
  for (const std::string name : {"block0.experts.dispatch", "block0.experts.combine"}) {
    CHECK(layer_of(part, name).workspace.value() == layer_of(one, name).workspace.value() + 2 * 32 * 64);
    CHECK(layer_of(part, name).stash == layer_of(one, name).stash);
  }
}

TEST_CASE("expert group: the shared experts are on each member, divided by its tensor group only") {
  DecoderSize size = small_decoder("qwen3");
  size.experts = {.count = 8, .active = 2, .feed_forward = 32, .shared_feed_forward = 64};
  const Architecture net = decoder("s", size);
  const Architecture part = member_of(net, {.expert = 4});
  CHECK(operator_of(part, "shared_up") == operator_of(net, "shared_up"));
  CHECK(operator_of(part, "shared_up").kernel.experts.count == 0);
  CHECK(operator_of(part, "router") == operator_of(net, "router"));
}

TEST_CASE("expert group: networks that cannot be divided so are refused with what would do") {
  const Architecture net = small_mixtral();
  CHECK(refusal(net, {.expert = 3}) ==
        "m cannot be divided into an expert group of 3 devices: its number of experts, 8, is not a multiple of 3 | "
        "degrees that divide it: 1, 2, 4, 8");
  DecoderSize size = small_decoder("mixtral");
  size.sequence = 48;
  size.experts.count = 12;
  CHECK(refusal(decoder("m", size), {.tensor = 2, .context = 3, .expert = 4}) ==
        "m cannot be divided into an expert group of 4 devices: 4 neither divides the 6 devices of its tensor and "
        "context groups nor is a multiple of them | degrees that divide it: 1, 2, 3, 6, 12");
  for (const char* name : {"llama3-8b", "gpt2-small", "t5-small", "resnet50"}) {
    CHECK(refusal(find_architecture(name).value(), {.expert = 2}) ==
          std::string(name) + " cannot be divided into an expert group of 2 devices: it has no experts | a network " +
              "with experts like mixtral-8x7b, or an expert group of 1");
  }
}

TEST_CASE("expert group: the figures say of which device they are") {
  const std::string source = graph_of(small_mixtral(), {.expert = 4, .imbalance = 1.5}).source;
  CHECK(source.find("; figures of one of 4 devices that divide the experts of each block, the one with 1.5 times the "
                    "mean of tokens; network") != std::string::npos);
}

}  // namespace stagecraft::expert_group_test
