// Residual blocks: what vPipe's released code partitions.
#include "sim/workload/places.hpp"

#include "sim/base/error.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace stagecraft::places_test {

namespace {

Architecture known(const std::string& name) { return find_architecture(name).value(); }

LayerGraph built(const std::string& name, Granularity granularity) {
  return build_model(known(name), find_device("RTX-2080-Ti").value(), 1, granularity).profiles.at(0);
}

std::size_t blocks(const std::string& name) { return operators_of_layers(known(name), Granularity::Residual).size(); }

/// The first and the last operator of a residual block.
std::vector<std::string> ends(const std::string& name, std::size_t block) {
  const Architecture net = known(name);
  const auto operators = operators_of_layers(net, Granularity::Residual);
  const std::vector<OperatorId>& members = operators[LayerId(block)];
  return {net.operators[members.front()].name, net.operators[members.back()].name};
}

std::vector<std::string> networks_with_residual_blocks() {
  std::vector<std::string> names;
  for (const WorkloadInfo& info : known_architectures()) {
    if (std::ranges::any_of(known(info.name).operators, &Operator::ends_residual)) names.push_back(info.name);
  }
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

// The `partition` of every plan that vPipe's repository releases (BERT for 2, 4 and 8 GPUs, Transformer for 4 and 8,
// CPM medium for 3, 4, 8 and 12, CPM large for 4 and 8) counts the blocks of its network.
TEST_CASE("residual blocks: each network has as many as vPipe's released partitions distribute") {
  struct Released {
    const char* network;
    std::size_t blocks;
    std::vector<std::vector<std::size_t>> partitions;
  };
  const std::vector<Released> all = {
      {"bert-24", 49, {{12, 13, 13, 11}, {13, 13, 13, 10}, {26, 23}}},
      {"bert-48",
       97,
       {{11, 11, 12, 12, 13, 13, 14, 11}, {11, 12, 13, 13, 13, 13, 12, 10}, {12, 12, 13, 13, 13, 13, 12, 9}}},
      {"transformer-6-6", 33, {{9, 9, 10, 5}, {9, 10, 9, 5}}},
      {"transformer-12-12", 63, {{8, 7, 8, 8, 8, 9, 10, 5}, {8, 8, 8, 8, 9, 9, 9, 4}}},
      {"cpm-medium",
       50,
       {{12, 12, 13, 13},
        {10, 13, 14, 13},
        {13, 13, 13, 11},
        {6, 6, 6, 6, 6, 7, 7, 6},
        {4, 4, 4, 4, 4, 4, 4, 5, 4, 5, 5, 3},
        {13, 13, 24}}},
      {"cpm-large",
       66,
       {{16, 16, 17, 17}, {14, 17, 18, 17}, {15, 16, 17, 18}, {8, 8, 8, 8, 8, 9, 9, 8}, {8, 8, 8, 8, 9, 10, 10, 5}}}};
  for (const Released& released : all) {
    CAPTURE(released.network);
    CHECK(blocks(released.network) == released.blocks);
    CHECK(built(released.network, Granularity::Residual).layers.size() == released.blocks);
    for (const auto& partition : released.partitions) {
      CHECK(std::accumulate(partition.begin(), partition.end(), std::size_t{0}) == released.blocks);
    }
  }
}

// One for each addition and one for what follows the last. ResNet-50: 16 blocks. T5: 2 x 6 and 3 x 6, and no positions
// to add. GNMT: LSTM layers from the third on, two on either side.
TEST_CASE("residual blocks: one for each addition, and one for the rest") {
  CHECK(blocks("resnet50") == 16 + 1);
  CHECK(blocks("t5-small") == 30 + 1);
  CHECK(blocks("gnmt-8") == 4 + 1);
  CHECK(blocks("gpt2-small") == 1 + 24 + 1);
  CHECK(blocks("transformer-base") == 2 + 30 + 1);
}

// In vPipe's code BERT's embedding is one module, so its sums end no block; a block begins with the normalisation that
// follows an addition. The last one is normalisation, dense layer with activation, normalisation and decoder.
TEST_CASE("residual blocks: BERT's begin and end where vPipe's do") {
  CHECK(ends("bert-24", 0) == Names{"embedding.words", "block0.attention.residual"});
  CHECK(ends("bert-24", 1) == Names{"block0.attention.norm", "block0.mlp.residual"});
  CHECK(ends("bert-24", 2) == Names{"block0.mlp.norm", "block1.attention.residual"});
  CHECK(ends("bert-24", 48) == Names{"block23.mlp.norm", "head.loss"});
}

// GPT's first block is the sum of words and positions; the dropout on it begins the second. In vPipe's code the
// encoder's last normalisation is the first line of the decoder's first block, whose sum does not need it; here it ends
// the block before.
TEST_CASE("residual blocks: GPT's and the Transformer's begin and end where vPipe's do") {
  CHECK(ends("cpm-medium", 0) == Names{"embedding.words", "embedding.sum"});
  CHECK(ends("cpm-medium", 1) == Names{"embedding.dropout", "block0.attention.residual"});
  CHECK(ends("cpm-medium", 2) == Names{"block0.mlp.norm", "block0.mlp.residual"});
  CHECK(ends("cpm-medium", 49) == Names{"head.norm", "head.loss"});
  CHECK(ends("transformer-6-6", 0) == Names{"encoder.embedding.words", "encoder.embedding.positions"});
  CHECK(ends("transformer-6-6", 1) == Names{"encoder.embedding.dropout", "encoder.block0.attention.residual"});
  CHECK(ends("transformer-6-6", 12) == Names{"encoder.block5.mlp.norm", "encoder.norm.norm"});
  CHECK(ends("transformer-6-6", 13) == Names{"decoder.embedding.words", "decoder.embedding.positions"});
  CHECK(ends("transformer-6-6", 15) ==
        Names{"decoder.block0.cross_attention.norm", "decoder.block0.cross_attention.residual"});
  CHECK(ends("transformer-6-6", 32) == Names{"head.norm", "head.loss"});
}

TEST_CASE("residual blocks: each is a run of operators, with one addition but for the last") {
  for (const std::string& name : networks_with_residual_blocks()) {
    CAPTURE(name);
    const Architecture net = known(name);
    std::size_t next = 0;
    const auto layers = operators_of_layers(net, Granularity::Residual);
    for (const std::vector<OperatorId>& members : layers) {
      std::int64_t additions = 0;
      for (const OperatorId id : members) {
        CHECK(id == OperatorId(next++));
        additions += net.operators[id].ends_residual ? 1 : 0;
      }
      CHECK(additions == (&members == &layers.back() ? 0 : 1));
    }
    CHECK(next == net.operators.size());
  }
}

// A layer sends one message to each stage that reads it, of its largest edge. That is all that the stage needs only if
// the tensors that others read contain those that the others read.
TEST_CASE("residual blocks: a cut carries what it carries between operators") {
  for (const std::string& name : networks_with_residual_blocks()) {
    CAPTURE(name);
    const auto layers = operators_of_layers(known(name), Granularity::Residual);
    const LayerGraph coarse = built(name, Granularity::Residual);
    const std::vector<LayerId> order = canonical_order(coarse);
    const std::vector<Bytes> cuts = cut_bytes(coarse, order);
    std::vector<LayerId> operators;
    std::vector<std::size_t> last;  // the place of each block's last operator among all
    for (const LayerId block : order) {
      for (const OperatorId id : layers[block]) operators.emplace_back(id.value());
      last.push_back(operators.size() - 1);
    }
    const std::vector<Bytes> fine = cut_bytes(built(name, Granularity::Operator), operators);
    for (std::size_t i = 0; i < cuts.size(); ++i) CHECK(cuts[i] == fine[last[i]]);
  }
}

// Each layer's times are rounded to the nanosecond once.
TEST_CASE("residual blocks: they add up to the operators") {
  for (const char* name : {"bert-48", "transformer-12-12", "cpm-large", "resnet152", "t5-base"}) {
    CAPTURE(name);
    const LayerGraph fine = built(name, Granularity::Operator);
    const LayerGraph coarse = built(name, Granularity::Residual);
    const double roundings = 0.5e-9 * static_cast<double>(fine.layers.size() + coarse.layers.size());
    CHECK(std::abs(totals(fine).forward.value() - totals(coarse).forward.value()) <= roundings);
    CHECK(std::abs(totals(fine).backward.value() - totals(coarse).backward.value()) <= roundings);
    CHECK(totals(fine).parameters == totals(coarse).parameters);
  }
}

// One tensor of s h values passes between BERT's and CPM's blocks; the Transformer's decoder needs the encoder's output
// as well, up to the last cross-attention.
TEST_CASE("residual blocks: one stream passes each cut, two in the decoder") {
  for (const char* name : {"bert-48", "cpm-medium"}) {
    const LayerGraph graph = built(name, Granularity::Residual);
    const std::int64_t tokens = std::string(name) == "bert-48" ? 128 : 696;
    for (const Bytes cut : cut_bytes(graph, canonical_order(graph))) CHECK(cut == Bytes(4 * tokens * 1024));
  }
  const LayerGraph graph = built("transformer-6-6", Granularity::Residual);
  const std::vector<Bytes> cuts = cut_bytes(graph, canonical_order(graph));
  const std::int64_t stream = std::int64_t{4} * 128 * 1024;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    CAPTURE(i);
    const bool is_decoder = i >= 13 && i < 30;  // the last cross-attention is block 30
    CHECK(cuts[i] == Bytes(is_decoder ? 2 * stream : stream));
  }
}

TEST_CASE("residual blocks: equal ones have one type, others have not") {
  const auto places = places_of(known("bert-24"), Granularity::Residual);
  std::vector<std::string> types;
  std::string last;
  for (const Place& place : places) {
    if (place.name != last) types.push_back(place.type);
    last = place.name;
  }
  REQUIRE(types.size() == 49);
  CHECK(types[0].empty());   // with the embedding
  CHECK(types[48].empty());  // the head
  for (std::size_t i = 1; i < 48; ++i) CHECK(types[i] == (i % 2 == 1 ? "mlp" : "attention"));
}

// Nothing is added in the first four. XLNet's encodings of distances and the states of AmoebaNet-D's cells run beside
// the additions to several layers.
TEST_CASE("residual blocks: some networks have none") {
  for (const char* name : {"alexnet", "vgg16", "inception-v3", "densenet121", "xlnet-base", "amoebanet-d-18-256"}) {
    CAPTURE(name);
    CHECK_THROWS_WITH_AS(
        static_cast<void>(places_of(known(name), Granularity::Residual)),
        (std::string(name) + " has no residual blocks (the granularities operator, layer and block fit every network)")
            .c_str(),
        InputError);
  }
}

}  // namespace stagecraft::places_test
