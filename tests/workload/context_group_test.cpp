// Networks as one member of a context group has them: c members, T tokens of each. A head has 8 values here, of two
// bytes; 8 heads of queries, 2 of keys and values, hidden size 64, 16 tokens in all.
#include "sim/workload/architecture.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/vit.hpp"
#include "tests/workload/group_networks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::context_group_test {

using namespace group_networks;
using enum Exchange::Kind;

namespace {

constexpr auto kAttentions =
    std::to_array({ContextAttention::Ring, ContextAttention::AllGather, ContextAttention::AllToAll});

Degrees context(std::int64_t members, ContextAttention attention = ContextAttention::Ring) {
  return {.context = members, .attention = attention};
}

DecoderSize few_keys() {
  DecoderSize size = small_decoder("llama");
  size.key_value_heads = 2;
  return size;
}

Architecture small_llama() { return decoder("l", few_keys()); }

/// With a window of so many tokens.
Architecture windowed(std::int64_t window) {
  DecoderSize size = few_keys();
  size.window = window;
  return decoder("w", size);
}

Exchange exchange(Exchange::Kind kind, std::int64_t bytes, std::int64_t count, Seconds beside = Seconds(0)) {
  return {.kind = kind, .bytes = Bytes(bytes), .count = count, .among = Exchange::Among::Context, .beside = beside};
}

const Operator& attention_of(const Architecture& net) {
  return *std::ranges::find(net.operators, "block0.attention.attention", &Operator::name);
}

std::int64_t seen_macs(const Architecture& net) {
  return attention_of(net).macs - attention_of(net).kernel.masked_macs;
}

/// Twice the pairs of the queries from `begin` to `end` with the keys that they attend to, a query's with itself half.
std::int64_t twice_pairs(std::int64_t begin, std::int64_t end, std::int64_t window) {
  std::int64_t sum = 0;
  for (std::int64_t query = begin; query < end; ++query) sum += std::min(2 * query + 1, 2 * window);
  return sum;
}

}  // namespace

TEST_CASE("context group: a group of one has the network itself, whatever the attention") {
  for (const ContextAttention attention : kAttentions) {
    CHECK(member_of(small_llama(), context(1, attention)) == small_llama());
    CHECK(member_of(small_llama(), {.tensor = 2, .attention = attention}) == member_of(small_llama(), {.tensor = 2}));
  }
}

TEST_CASE("context group: a member has its tokens and all parameters; the work stays that of the whole") {
  const Architecture net = small_llama();
  for (const ContextAttention attention : kAttentions) {
    const Architecture part = member_of(net, context(4, attention));
    CHECK(part.tokens == 4);
    CHECK(part.input_bytes * 4 == net.input_bytes);
    CHECK(parameter_count(part) == parameter_count(net));
    const LayerGraph graph = graph_of(net, context(4, attention));
    CHECK(graph.work == graph_of(net, {}).work);
    CHECK(graph.copies == Copies{4, 4});
    for (const LayerEdge& edge : graph.edges) CHECK(edge.bytes.value() == 2 * 4 * 64);
  }
}

TEST_CASE("context group: all members together do the products of the whole, and equally many of the attention") {
  for (const char* family : {"llama", "qwen3", "deepseek", "bloom", "falcon"}) {
    CAPTURE(family);
    const Architecture net = decoder(family, small_decoder(family));
    for (const ContextAttention attention : {ContextAttention::Ring, ContextAttention::AllGather}) {
      for (const std::int64_t members : {2, 4, 8}) {
        const Architecture part = member_of(net, context(members, attention));
        CHECK(seen_macs(part) * members == seen_macs(net));
        for (const OperatorId id : indices(net.operators)) {
          CHECK(part.operators[id].macs * members == net.operators[id].macs);
        }
      }
    }
  }
  CHECK(seen_macs(member_of(small_llama(), context(4, ContextAttention::AllToAll))) * 4 == seen_macs(small_llama()));
}

// Members have the slices i and 2c-1-i. A pair of all heads is 8 * (8 + 8) multiply-adds.
TEST_CASE("context group: with a window the busiest member's attention counts") {
  for (const std::int64_t window : {1, 3, 4, 7, 15}) {
    const Architecture net = windowed(window);
    CHECK(seen_macs(net) == twice_pairs(0, 16, window) * 64);
    CHECK(seen_macs(member_of(net, context(4, ContextAttention::AllToAll))) * 4 == seen_macs(net));
    for (const std::int64_t members : {2, 4}) {
      const std::int64_t slice = 8 / members;
      std::int64_t most = 0;
      for (std::int64_t at = 0; at < members; ++at) {
        const std::int64_t other = 2 * members - 1 - at;
        most = std::max(most, twice_pairs(at * slice, (at + 1) * slice, window) +
                                  twice_pairs(other * slice, (other + 1) * slice, window));
      }
      CHECK(seen_macs(member_of(net, context(members, ContextAttention::AllGather))) == most * 64);
    }
  }
}

// 2 T k d values pass to the next one, with their gradients twice as many; a microbatch of 3 samples.
TEST_CASE("context group: keys and values pass around a ring beside the attention, their gradients one step further") {
  const std::int64_t own = 2 * (2 * 4 * 2 * 8) * 3;
  const auto graph = [](Granularity granularity) { return graph_of(small_llama(), context(4), granularity, 3); };
  const Layer attention = layer_of(graph(Granularity::Operator), "block1.attention.attention");
  const Layer block = layer_of(graph(Granularity::Block), "block1");
  REQUIRE(attention.forward > Seconds(0));
  CHECK(block.forward_exchanges == std::vector{exchange(Shift, own, 3, attention.forward / 4.0)});
  CHECK(are_alike(block.backward_exchanges,
                  {exchange(Shift, 2 * own, 3, attention.backward / 4.0), exchange(Shift, own, 1)}));
  CHECK(layer_of(graph(Granularity::Block), "embedding").forward_exchanges.empty());
}

// All queries have keys and values of 8 + 4 and 8 values of their own, and T = 4 tokens.
TEST_CASE("context group: keys and values made from latent vectors pass around the ring as they are for each head") {
  const LayerGraph graph = graph_of(decoder("d", small_decoder("deepseek")), context(4), Granularity::Layer);
  const Layer attention = layer_of(graph, "block0.attention");
  REQUIRE(attention.forward_exchanges.size() == 1);
  CHECK(attention.forward_exchanges.front().bytes == Bytes(2 * 4 * 8 * (8 + 4 + 8)));
}

TEST_CASE("context group: keys and values of all are gathered, and their gradients scattered") {
  const std::int64_t all = 2 * (2 * 16 * 2 * 8);
  const LayerGraph graph = graph_of(small_llama(), context(4, ContextAttention::AllGather));
  const Layer block = layer_of(graph, "block1");
  CHECK(block.forward_exchanges == std::vector{exchange(AllGather, all, 1)});
  CHECK(are_alike(block.backward_exchanges, {exchange(AllGather, all, 1), exchange(ReduceScatter, all, 1)}));
}

// Queries and output T a d values, keys and values T k d, or T c d where k is less than c.
TEST_CASE("context group: heads are exchanged for tokens, of keys and values at least one for each member") {
  for (const std::int64_t members : {2, 4}) {
    const std::int64_t tokens = 16 / members;
    const std::int64_t wide = 2 * tokens * 8 * 8;
    const std::int64_t narrow = 2 * tokens * members * 8;
    const LayerGraph graph = graph_of(small_llama(), context(members, ContextAttention::AllToAll));
    const std::vector<Exchange> expected{exchange(AllToAll, wide, 2), exchange(AllToAll, narrow, 2)};
    CHECK(are_alike(layer_of(graph, "block1").forward_exchanges, expected));
    CHECK(are_alike(layer_of(graph, "block1").backward_exchanges, expected));
  }
}

TEST_CASE("context group: exchanges of a tensor group are those of a member's tokens, heads those of a tensor rank") {
  const LayerGraph graph = graph_of(small_llama(), {.tensor = 2, .context = 2});
  const std::int64_t stream = 2 * 8 * 64;
  const Layer block = layer_of(graph, "block1");
  const auto in_tensor = [&](Exchange::Kind kind) {
    return Exchange{.kind = kind, .bytes = Bytes(stream), .count = 2};
  };
  REQUIRE(block.forward_exchanges.size() == 3);
  const Seconds beside = layer_of(graph_of(small_llama(), {.tensor = 2, .context = 2}, Granularity::Operator),
                                  "block1.attention.attention")
                             .forward /
                         2.0;
  CHECK(are_alike(block.forward_exchanges,
                  {in_tensor(AllGather), in_tensor(ReduceScatter), exchange(Shift, 2 * (2 * 8 * 1 * 8), 1, beside)}));
  CHECK(graph.edges.front().bytes.value() == stream / 2);
  CHECK(graph.copies == Copies{2, 4});
}

// By heads the output is kept twice, T a d values, and of 2 heads of keys and values 4 - 2 = 2 copies of both.
TEST_CASE("context group: all members together keep what the whole keeps, and by heads what is there twice") {
  const auto stash = [](const Degrees& degrees) {
    return layer_of(graph_of(small_llama(), degrees), "block1").stash.value();
  };
  CHECK(stash(context(4)) * 4 == stash({}));
  CHECK(stash(context(4, ContextAttention::AllGather)) * 4 == stash({}));
  CHECK(stash(context(2, ContextAttention::AllToAll)) == stash(context(2)) + 2 * 8 * 8 * 8);
  CHECK(stash(context(4, ContextAttention::AllToAll)) == stash(context(4)) + 2 * 4 * (8 * 8 + 2 * 2 * 8));
}

// Qwen3 normalises queries and keys, and computes that backward from its output: T (a + k) d values.
TEST_CASE("context group: what a norm of queries and keys keeps is not what the attention has by heads") {
  DecoderSize size = small_decoder("qwen3");
  size.key_value_heads = 2;
  const Architecture net = decoder("q", size);
  const auto stash = [&](const Degrees& degrees) { return layer_of(graph_of(net, degrees), "block1").stash.value(); };
  const std::int64_t output = 2 * 8 * 8 * 8;
  const std::int64_t normal = 2 * 8 * (8 + 2) * 8;
  CHECK(stash(context(2, ContextAttention::AllToAll)) == stash(context(2)) + output + normal);
}

// T = 4: the output 256 values, queries 256, keys and values 128. In the backward there are gradients of all three and
// of what was gathered: 2 blocks of 128 in a ring, else those of all 4 members.
TEST_CASE("context group: a member holds keys and values of others while the attention runs") {
  const auto workspace = [](ContextAttention attention) {
    const LayerGraph graph = graph_of(small_llama(), context(4, attention), Granularity::Operator);
    return layer_of(graph, "block0.attention.attention").workspace.value();
  };
  CHECK(workspace(ContextAttention::Ring) == 2 * (256 + 256 + 2 * 128 + 2 * 128));
  CHECK(workspace(ContextAttention::AllGather) == 2 * (256 + 256 + 4 * 128 + 4 * 128));
}

TEST_CASE("context group: exchanges, parameters and what is kept do not depend on the granularity") {
  for (const ContextAttention attention : kAttentions) {
    const Degrees degrees{.tensor = 2, .context = 2, .attention = attention};
    const LayerGraph blocks = graph_of(small_llama(), degrees);
    for (const Granularity granularity : {Granularity::Operator, Granularity::Layer}) {
      const LayerGraph layers = graph_of(small_llama(), degrees, granularity);
      CHECK(are_alike(exchanges_of(layers).forward, exchanges_of(blocks).forward));
      CHECK(are_alike(exchanges_of(layers).backward, exchanges_of(blocks).backward));
      CHECK(totals(layers).parameters == totals(blocks).parameters);
      CHECK(totals(layers).forward.value() == doctest::Approx(totals(blocks).forward.value()).epsilon(1e-9));
    }
  }
}

TEST_CASE("context group: networks whose tokens cannot be divided are refused with what would do") {
  DecoderSize size = few_keys();
  size.sequence = 24;
  const Architecture net = decoder("l", size);
  CHECK(refusal(net, context(8)) ==
        "l cannot be divided into a context group of 8 devices: its number of tokens of a sample, 24, is not a "
        "multiple of 16, two slices for each device | degrees that divide it: 1, 2, 3, 4, 6, 12");
  CHECK(refusal(net, context(8, ContextAttention::AllToAll)) == "none");
  CHECK(refusal(net, context(5, ContextAttention::AllToAll)) ==
        "l cannot be divided into a context group of 5 devices: its number of tokens of a sample, 24, is not a "
        "multiple of 5 | degrees that divide it: 1, 2, 4, 8");
  CHECK(refusal(net, {.tensor = 8, .context = 6}) ==
        "l cannot be divided into a tensor group of 8 devices: its number of tokens of a sample on each context rank, "
        "4, is not a multiple of 8 | degrees that divide it: 1, 2, 4; without sequence parallelism "
        "(--sequence-parallel false): 1, 2, 4, 8");
}

TEST_CASE("context group: heads that members cannot divide are refused with what would do") {
  const Architecture net = small_llama();
  CHECK(refusal(net, {.tensor = 2, .context = 8, .attention = ContextAttention::AllToAll}) ==
        "l cannot be divided into a context group of 8 devices: its number of heads of a tensor rank, 4, is not a "
        "multiple of 8 | degrees that divide it: 1, 2, 4");
  DecoderSize size = few_keys();
  size.sequence = 24;
  size.heads = 12;
  size.head_size = 8;
  size.key_value_heads = 3;
  const Architecture odd = decoder("o", size);
  CHECK(refusal(odd, context(2, ContextAttention::AllToAll)) ==
        "o cannot be divided into a context group of 2 devices: its number of heads of keys and values, 3, neither "
        "divides 2 nor is a multiple of it | degrees that divide it: 1, 3, 6, 12");
  CHECK(refusal(odd, context(6, ContextAttention::AllToAll)) == "none");
}

TEST_CASE("context group: a window in a ring, and networks other than decoders, are refused") {
  const Architecture net = windowed(4);
  CHECK(refusal(net, context(2)) ==
        "w cannot be divided into a context group of 2 devices: in a ring each token would attend to all before it, of "
        "16 tokens, but its window is 4 | choose all-gather or all-to-all as the attention of context groups");
  CHECK(refusal(net, context(2, ContextAttention::AllGather)) == "none");
  CHECK(refusal(windowed(32), context(2)) == "none");
  const Architecture patches =
      vit("v", {.layers = 2, .hidden = 64, .heads = 8, .patch = 8, .image = 40, .classes = 10});
  for (const Architecture& other : {find_architecture("gpt2-small").value(), find_architecture("t5-small").value(),
                                    find_architecture("resnet50").value(), patches}) {
    CHECK(refusal(other, context(2)) ==
          other.name +
              " cannot be divided into a context group of 2 devices: context groups need fused attention as "
              "decoders have it | a decoder like llama3-8b, or a context group of 1");
  }
}

TEST_CASE("context group: the figures say of which device they are") {
  const std::string ring = graph_of(small_llama(), {.tensor = 2, .context = 2}).source;
  CHECK(ring.find("; figures of one of 2 devices that divide each layer, with sequence parallelism and of one of 2 "
                  "devices that divide the tokens of each sample, with keys and values that pass around a ring; "
                  "network") != std::string::npos);
  const std::string heads = graph_of(small_llama(), context(2, ContextAttention::AllToAll)).source;
  CHECK(heads.find("; figures of one of 2 devices that divide the tokens of each sample, with some of the heads for "
                   "all tokens on each; network") != std::string::npos);
}

}  // namespace stagecraft::context_group_test
