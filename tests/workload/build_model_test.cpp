#include "sim/workload/build_model.hpp"

#include "sim/base/error.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/transformer.hpp"
#include "sim/workload/vgg.hpp"
#include "tests/workload/group_networks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace stagecraft;
using group_networks::layer_of;

namespace {

/// Finest first; each layer is a union of finer ones.
constexpr std::array kNested = {Granularity::Operator, Granularity::Layer, Granularity::Block};

/// Those that the network has.
std::vector<Granularity> granularities_of(const std::string& net) {
  std::vector<Granularity> list(kNested.begin(), kNested.end());
  const Architecture known = find_architecture(net).value();
  if (std::ranges::any_of(known.operators, &Operator::ends_residual)) list.push_back(Granularity::Residual);
  return list;
}

LayerGraph built(const std::string& net, const std::string& device, std::int64_t samples,
                 Granularity granularity = Granularity::Layer) {
  return build_model(find_architecture(net).value(), find_device(device).value(), samples, granularity).profiles.at(0);
}

/// A network of the catalogue for two samples on a V100, built once for all tests.
const LayerGraph& known_graph(const std::string& net, Granularity granularity) {
  static std::map<std::pair<std::string, Granularity>, LayerGraph> known;
  const auto [at, is_new] = known.try_emplace({net, granularity});
  if (is_new) at->second = built(net, "V100-SXM2-16GB", 2, granularity);
  return at->second;
}

/// The stash of one transformer block, per sample, in bytes.
Bytes block_stash(const TransformerSize& size, Precision precision) {
  DeviceDescription device = find_device("A100-SXM4-40GB").value();
  device.precision = precision;
  const Model model = build_model(bert("b", size, BertHead::Pooler), device, 1);
  const LayerGraph& graph = model.profiles.at(0);
  return layer_of(graph, "block0.attention").stash + layer_of(graph, "block0.mlp").stash;
}

}  // namespace

TEST_CASE("build_model: VGG-16 at microbatch 32 has the sizes of its layers") {
  const LayerGraph graph = built("vgg16", "V100-SXM2-16GB", 32);
  CHECK(graph.layers.size() == 13 * 2 + 5 + 5);  // 13 x (conv, relu), 5 pools, 3 linear with 2 relus
  CHECK(graph.input == Bytes(19'267'584));       // 32 x 3 x 224 x 224 x 4
  const Layer& first = layer_of(graph, "conv1_1");
  CHECK(first.parameters == Bytes(7168));     // (3 x 3 x 3 x 64 + 64) x 4
  CHECK(first.output == Bytes(411'041'792));  // 32 x 64 x 224 x 224 x 4
  CHECK(first.stash == graph.input);
  CHECK(first.checkpoint == graph.input);
  CHECK(layer_of(graph, "relu1_1").stash == Bytes(411'041'792));
  // a pooling keeps its input and an 8-byte index for each of its outputs
  CHECK(layer_of(graph, "pool1").stash == Bytes(411'041'792 + 32 * 64 * 112 * 112 * 8));
  CHECK(layer_of(graph, "fc6").parameters == Bytes(std::int64_t{4} * (25088 + 1) * 4096));
  // relu6 keeps its output and one byte of dropout mask for each value
  CHECK(layer_of(graph, "relu6").stash == Bytes(std::int64_t{32} * 4096 * 5));
  CHECK(totals(graph).parameters == Bytes(std::int64_t{4} * 138'357'544));
}

TEST_CASE("build_model: the first layer has no input gradient") {
  const LayerGraph graph = built("vgg16", "V100-SXM2-16GB", 32);
  CHECK(layer_of(graph, "conv1_1").backward == layer_of(graph, "conv1_1").backward_weight);
  const Layer& second = layer_of(graph, "conv1_2");
  CHECK(second.backward.value() == doctest::Approx(2 * second.forward.value()));
  CHECK(second.backward_weight.value() == doctest::Approx(second.forward.value()));
  CHECK(layer_of(graph, "relu1_1").backward_weight == Seconds(0));
}

// Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022 (arXiv:2205.05198),
// section 4.1: with two bytes per value a block keeps s b h (34 + 5 a s / h) bytes, mask and statistics of the
// normalisations included as 1 and 0. With four bytes per value the same tensors take s b h (66 + 9 a s / h). The
// statistics are 8 bytes for each token and normalisation.
TEST_CASE("build_model: a transformer block keeps the activations of the published formula") {
  const TransformerSize size{.layers = 1, .hidden = 1024, .heads = 16, .sequence = 512};
  const std::int64_t sh = std::int64_t{512} * 1024;
  const std::int64_t as2 = std::int64_t{16} * 512 * 512;
  const std::int64_t statistics = std::int64_t{2} * 8 * 512;
  CHECK(block_stash(size, Precision::Bf16) == block_stash(size, Precision::Fp16));
  CHECK(block_stash(size, Precision::Fp16) == Bytes(34 * sh + 5 * as2 + statistics));
  CHECK(block_stash(size, Precision::Tf32) == Bytes(66 * sh + 9 * as2 + statistics));
}

TEST_CASE("build_model: GPT and BERT blocks of one size keep the same and hold the same parameters") {
  const TransformerSize size{.layers = 2, .hidden = 256, .heads = 4, .sequence = 64, .vocabulary = 1000};
  const DeviceDescription device = find_device("V100-SXM2-16GB").value();
  const Model encoder = build_model(bert("b", size, BertHead::Pooler), device, 2);
  const Model decoder = build_model(gpt("g", size), device, 2);
  for (const char* name : {"block1.attention", "block1.mlp"}) {
    const Layer& a = layer_of(encoder.profiles[0], name);
    const Layer& b = layer_of(decoder.profiles[0], name);
    CHECK(a.parameters == b.parameters);
    CHECK(a.stash == b.stash);
    CHECK(a.output == Bytes(std::int64_t{4} * 2 * 64 * 256));
    CHECK(a.output == b.output);
  }
}

TEST_CASE("build_model: a tied head has the word table, which counts once") {
  const Bytes table(std::int64_t{4} * 50257 * 768);
  for (const Granularity granularity : {Granularity::Operator, Granularity::Layer, Granularity::Block}) {
    const LayerGraph graph = built("gpt2-small", "A100-SXM4-40GB", 1, granularity);
    const bool by_operator = granularity == Granularity::Operator;
    REQUIRE(graph.tied.size() == 1);
    CHECK(graph.tied[0].bytes == table);
    REQUIRE(graph.tied[0].layers.size() == 2);
    CHECK(graph.layers[graph.tied[0].layers[0]].name == (by_operator ? "embedding.words" : "embedding"));
    CHECK(graph.layers[graph.tied[0].layers[1]].name == (by_operator ? "head.decoder" : "head"));
    CHECK(totals(graph).parameters == Bytes(std::int64_t{4} * 124'439'808));
  }
  CHECK(layer_of(built("gpt2-small", "A100-SXM4-40GB", 1), "head").parameters ==
        table + Bytes(std::int64_t{4} * 2 * 768));
  CHECK(built("bert-large", "A100-SXM4-40GB", 1).tied.empty());
}

TEST_CASE("build_model: the heads of vPipe's networks have tables of their own") {
  const LayerGraph graph = built("bert-48", "RTX-2080-Ti", 1);
  const std::optional<Architecture> net = find_architecture("bert-48");
  CHECK(graph.tied.empty());
  CHECK(totals(graph).parameters == Bytes(4 * (parameter_count(*net) + std::int64_t{30'528} * 1024)));
  const LayerGraph pair = built("transformer-6-6", "RTX-2080-Ti", 1);
  REQUIRE(pair.tied.size() == 1);  // the decoder's words
  CHECK(pair.tied[0].layers.size() == 2);
}

// The word table is in three layers; those of relative positions are in all blocks of the encoder and of the decoder.
TEST_CASE("build_model: T5 has three groups of tied parameters, and counts each once") {
  const LayerGraph graph = built("t5-large", "A100-SXM4-40GB", 1, Granularity::Block);
  REQUIRE(graph.tied.size() == 3);
  CHECK(graph.tied[0].layers.size() == 3);
  CHECK(graph.tied[0].bytes == Bytes(std::int64_t{4} * 32'128 * 1024));
  for (const std::size_t side : {1, 2}) {
    CHECK(graph.tied[side].layers.size() == 24);
    CHECK(graph.tied[side].bytes == Bytes(std::int64_t{4} * 32 * 16));
  }
  const std::optional<Architecture> net = find_architecture("t5-large");
  CHECK(totals(graph).parameters == Bytes(4 * parameter_count(*net)));
}

TEST_CASE("build_model: VGG, BERT and GPT are chains of layers and of blocks") {
  for (const char* name : {"vgg16", "bert-base", "bert-large-pretraining", "gpt2-small", "gpt2-xl"}) {
    for (const Granularity granularity : {Granularity::Layer, Granularity::Block}) {
      CAPTURE(name);
      const LayerGraph graph = built(name, "V100-SXM2-16GB", 2, granularity);
      REQUIRE(graph.edges.size() == graph.layers.size() - 1);
      for (std::size_t i = 0; i < graph.edges.size(); ++i) {
        CHECK(graph.edges[i].from == LayerId(i));
        CHECK(graph.edges[i].to == LayerId(i + 1));
        CHECK(graph.edges[i].bytes == graph.layers[LayerId(i)].output);
      }
    }
  }
}

TEST_CASE("build_model: every network is a sound graph without cycles at every granularity") {
  for (const WorkloadInfo& info : known_architectures()) {
    for (const Granularity granularity : granularities_of(info.name)) {
      CAPTURE(info.name);
      CAPTURE(to_string(granularity));
      const LayerGraph& graph = known_graph(info.name, granularity);
      CHECK(find_cycle(graph).empty());
      for (const Layer& each : graph.layers) {
        CAPTURE(each.name);
        CHECK(each.forward > Seconds(0));
        CHECK(each.backward >= Seconds(0));
        const bool is_constant = granularity == Granularity::Operator || each.name == "positions";  // XLNet's
        CHECK((each.backward > Seconds(0) || is_constant));
        CHECK(each.backward_weight <= each.backward);
        CHECK(each.checkpoint <= each.stash);
        CHECK(each.output > Bytes(0));
      }
    }
  }
}

TEST_CASE("build_model: at operator granularity every operator is a layer under a name of its own") {
  for (const WorkloadInfo& info : known_architectures()) {
    CAPTURE(info.name);
    const Architecture net = find_architecture(info.name).value();
    const LayerGraph& graph = known_graph(info.name, Granularity::Operator);
    REQUIRE(graph.layers.size() == net.operators.size());  // operators of one name would have become one layer
    std::set<std::pair<LayerId, LayerId>> expected;
    for (const OperatorId id : indices(net.operators)) {
      CHECK(graph.layers[LayerId(id.value())].name == net.operators[id].name);
      for (const OperatorId input : net.operators[id].inputs) {
        if (!input.is_none()) expected.emplace(LayerId(input.value()), LayerId(id.value()));
      }
    }
    CHECK(graph.edges.size() == expected.size());
    for (const LayerEdge& edge : graph.edges) {
      CHECK(expected.contains({edge.from, edge.to}));
      CHECK(edge.bytes == graph.layers[edge.from].output);
    }
  }
}

// The attention half of a BERT block: the stream goes to three products and past them to the residual addition.
TEST_CASE("build_model: the operators of an attention half form its graph") {
  const LayerGraph graph = built("bert-base", "V100-SXM2-16GB", 1, Granularity::Operator);
  std::set<std::string> from;
  std::set<std::string> to;
  for (const LayerEdge& edge : graph.edges) {
    if (graph.layers[edge.from].name == "block0.mlp.norm") to.insert(graph.layers[edge.to].name);
    if (graph.layers[edge.to].name == "block1.attention.scores") from.insert(graph.layers[edge.from].name);
  }
  CHECK(to == std::set<std::string>{"block1.attention.query", "block1.attention.key", "block1.attention.value",
                                    "block1.attention.residual"});
  CHECK(from == std::set<std::string>{"block1.attention.query", "block1.attention.key"});
  CHECK(layer_of(graph, "block1.attention.query").type == "attention.query");
}

// A layer's times are rounded to the nanosecond once, so two sums differ by at most half a nanosecond for each layer of
// either. Tensors that two layers keep count at both: the finer the layers, the more often.
TEST_CASE("build_model: layers at every granularity add up to the same times and parameters, finer ones keep more") {
  for (const WorkloadInfo& info : known_architectures()) {
    CAPTURE(info.name);
    LayerTotals finer{};
    std::size_t finer_count = 0;
    for (const Granularity granularity : kNested) {
      const LayerGraph graph = built(info.name, "A100-SXM4-40GB", 3, granularity);
      const LayerTotals sum = totals(graph);
      if (finer_count > 0) {
        const double roundings = 0.5e-9 * static_cast<double>(finer_count + graph.layers.size());
        CHECK(std::abs(sum.forward.value() - finer.forward.value()) <= roundings);
        CHECK(std::abs(sum.backward.value() - finer.backward.value()) <= roundings);
        CHECK(sum.parameters == finer.parameters);
        CHECK(sum.stash <= finer.stash);
        CHECK(graph.layers.size() <= finer_count);
      }
      finer = sum;
      finer_count = graph.layers.size();
    }
  }
}

// Data kept besides tensors belongs to one operator; a tensor counts once for each operator that keeps it.
TEST_CASE("build_model: the stash of operators is that of their tensors, counted at each") {
  const Architecture net = find_architecture("bert-base").value();
  const LayerGraph graph = built("bert-base", "V100-SXM2-16GB", 2, Granularity::Operator);
  for (const OperatorId id : indices(net.operators)) {
    const Operator& op = net.operators[id];
    CAPTURE(op.name);
    std::int64_t bytes = op.saved_bytes;
    if (op.saves_output) bytes += 4 * op.output_values;
    if (op.saves_input) {
      for (const OperatorId input : op.inputs) {
        bytes += input.is_none() ? net.input_bytes : 4 * net.operators[input].output_values;
      }
    }
    CHECK(graph.layers[LayerId(id.value())].stash == Bytes(2 * bytes));
  }
}

TEST_CASE("build_model: layers of one type have the same numbers") {
  for (const WorkloadInfo& info : known_architectures()) {
    for (const Granularity granularity : granularities_of(info.name)) {
      const LayerGraph& graph = known_graph(info.name, granularity);
      std::map<std::string, Layer> first;
      for (Layer each : graph.layers) {
        CAPTURE(each.name);
        if (each.type.empty()) continue;
        const auto [at, is_new] = first.try_emplace(each.type, each);
        each.name = at->second.name;
        each.reads = at->second.reads;  // their tensors are others
        each.keeps = at->second.keeps;
        CHECK(each == at->second);
      }
    }
  }
}

TEST_CASE("build_model: sizes grow with the microbatch, parameters do not, times lose only launches") {
  const LayerGraph one = built("bert-base", "V100-SXM2-16GB", 1);
  const LayerGraph eight = built("bert-base", "V100-SXM2-16GB", 8);
  for (const LayerId id : indices(one.layers)) {
    CHECK(eight.layers[id].output == one.layers[id].output * 8);
    CHECK(eight.layers[id].stash == one.layers[id].stash * 8);
    CHECK(eight.layers[id].parameters == one.layers[id].parameters);
    CHECK(eight.layers[id].forward > one.layers[id].forward);
    CHECK(eight.layers[id].forward < one.layers[id].forward * 8.0);
  }
}

// A pooler reads one token, but PyTorch keeps the tensor that the token is a view of.
TEST_CASE("build_model: the pooler keeps its whole input") {
  const LayerGraph graph = built("bert-base", "V100-SXM2-16GB", 2);
  const Layer& pooler = layer_of(graph, "pooler");
  CHECK(pooler.checkpoint == Bytes(std::int64_t{2} * 512 * 768 * 4));
  CHECK(pooler.stash == Bytes(std::int64_t{2} * (512 + 1) * 768 * 4));
}

TEST_CASE("build_model: what no model file can say is refused before it overflows") {
  TransformerSize huge;
  huge.layers = 4096;
  huge.hidden = 131072;
  huge.heads = 131072;
  huge.sequence = huge.positions = 1'048'576;
  const Architecture net = gpt("huge", huge);
  CHECK_THROWS_WITH_AS(static_cast<void>(build_model(net, find_device("V100-SXM2-16GB").value(), 1)),
                       "the tensors of huge at 1 samples a microbatch exceed 2^53 bytes", InputError);
}

// Of 13 convolutions and 3 linear layers VGG-16 has 138,357,544 parameters.
TEST_CASE("build_model: a parameter takes two bytes in 16 and 8 bit, four in single precision") {
  const Architecture net = find_architecture("vgg16").value();
  const auto model_in = [&](Precision precision) {
    return build_model(net, find_device("H100-SXM5-80GB", precision).value(), 1).profiles.at(0);
  };
  for (const Precision precision : kAllPrecisions) {
    const bool is_single = precision == Precision::Fp32 || precision == Precision::Tf32;
    const LayerGraph graph = model_in(precision);
    CHECK(totals(graph).parameters == Bytes(std::int64_t{138'357'544} * (is_single ? 4 : 2)));
    CHECK(known_parameter_bytes(graph) == (is_single ? 4 : 2));
    CHECK(graph.precision == to_string(precision));
  }
}

TEST_CASE("build_model: knows the tokens of a sample, of two sequences those that the encoder reads") {
  const DeviceDescription device = find_device("V100-SXM2-16GB").value();
  const auto tokens = [&](const std::string& name, std::optional<std::int64_t> sequence = {}) {
    const auto net = sequence ? find_sequence_network(name, *sequence) : find_architecture(name);
    return build_model(net.value(), device, 2).profiles.at(0).work.tokens;
  };
  CHECK(tokens("bert-base") == 512);
  CHECK(tokens("gpt2-small", 256) == 256);
  CHECK(tokens("xlnet-base") == 512);
  CHECK(tokens("opt-125m") == 2048);
  CHECK(tokens("t5-small") == 512);  // and 114 that the decoder reads
  CHECK(tokens("gnmt-8") == 50);
  CHECK(tokens("vgg16") == 0);
  CHECK(tokens("vit-b-16") == 0);
}

TEST_CASE("build_model: a network for sequences takes other lengths, up to its positions") {
  for (const WorkloadInfo& info : known_architectures()) {
    CAPTURE(info.name);
    const auto shorter = find_sequence_network(info.name, 16);
    CHECK(shorter.has_value() == !find_architecture(info.name, 320).has_value());
    if (!shorter) continue;
    CHECK(shorter->input_bytes < find_architecture(info.name)->input_bytes);
    CHECK(parameter_count(*shorter) == parameter_count(*find_architecture(info.name)));
  }
  CHECK(find_sequence_network("bert-large", 512) == find_architecture("bert-large"));
  CHECK_THROWS_AS(static_cast<void>(find_sequence_network("gpt2-small", 1025)), InputError);
}
