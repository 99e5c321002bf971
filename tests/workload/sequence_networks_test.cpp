#include "sim/base/error.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/encoder_decoder.hpp"
#include "sim/workload/gnmt.hpp"
#include "sim/workload/transformer.hpp"
#include "sim/workload/xlnet.hpp"
#include "tests/workload/group_networks.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>

namespace stagecraft::sequence_networks_test {

using group_networks::layer_of;

namespace {

Architecture known(const std::string& name) {
  const auto found = find_architecture(name);
  REQUIRE(found.has_value());
  return *found;
}

double operations(const Architecture& net) { return forward_flops(net).value(); }

LayerGraph built(const Architecture& net) {
  return build_model(net, find_device("V100-SXM2-16GB").value(), 1).profiles.at(0);
}

/// The layers that read what `name` makes.
std::set<std::string> readers(const LayerGraph& graph, const std::string& name) {
  std::set<std::string> found;
  for (const LayerEdge& edge : graph.edges) {
    if (graph.layers[edge.from].name == name) found.insert(graph.layers[edge.to].name);
  }
  return found;
}

}  // namespace

// T5: Hugging Face's num_parameters() of t5-small … t5-11b; for base also KerasNLP's preset t5_base. XLNet:
// Hugging Face's XLNetModel of xlnet-base-cased and xlnet-large-cased (for base, by hand: 32001 x 768 words and the
// mask vector, then 12 x (5 x 768^2 + 3 x 768 + 2 x 768 + 2 x 1536 + 768 x 3072 + 3072 + 3072 x 768 + 768)). GNMT:
// NVIDIA's GNMT v2 of MLPerf Training, "MLPerf GNMT has 160671297 parameters" in the tests of Apex's distributed
// optimizers.
TEST_CASE("sequence networks: parameter counts equal the published ones") {
  CHECK(parameter_count(known("t5-small")) == 60'506'624);
  CHECK(parameter_count(known("t5-base")) == 222'903'552);
  CHECK(parameter_count(known("t5-large")) == 737'668'096);
  CHECK(parameter_count(known("t5-3b")) == 2'851'598'336);
  CHECK(parameter_count(known("t5-11b")) == 11'307'321'344);
  CHECK(parameter_count(known("xlnet-base")) == 116'718'336);
  CHECK(parameter_count(known("xlnet-large")) == 360'268'800);
  CHECK(parameter_count(gnmt("g", {.layers = 4})) == 160'671'297);
}

// Fan et al., "DAPPLE: A Pipelined Data Parallel Approach for Training Large Models", PPoPP 2021, table 2: GNMT-16 has
// 291 million. Its profile has 36560 word pieces and two embeddings of their own.
TEST_CASE("sequence networks: GNMT-16 as DAPPLE trains it has the 291 million parameters of its paper") {
  const Architecture net = gnmt("g", {.layers = 8, .vocabulary = 36'560, .shared_embedding = false});
  CHECK(static_cast<double>(parameter_count(net)) == doctest::Approx(291e6).epsilon(0.5 / 291));
  CHECK(tied_parameter_count(net) == 0);
}

// PipeDream's released models have a word table on either side: one of 32320 x 1024 more than NVIDIA's.
TEST_CASE("sequence networks: the GNMTs of the catalogue have two word tables, as PipeDream's") {
  const std::int64_t table = std::int64_t{32'320} * 1024;
  CHECK(parameter_count(known("gnmt-8")) == 160'671'297 + table);
  CHECK(parameter_count(known("gnmt-16")) == parameter_count(gnmt("g", {.layers = 8})) + table);
  CHECK(tied_parameter_count(known("gnmt-8")) == 0);
}

// Vaswani et al. (2017), table 3: 65 and 213 million. With the 37000 word pieces of the text and no biases in the
// attention the sizes of that table give 3 per cent less and half a per cent more; by hand for base: 37000 x 512 +
// 6 x (12 x 512^2 + 9 x 512) + 6 x (16 x 512^2 + 11 x 512).
TEST_CASE("sequence networks: the Transformer's parameter counts are near those of its paper") {
  CHECK(parameter_count(known("transformer-base")) == 63'045'632);
  CHECK(parameter_count(known("transformer-big")) == 214'171'648);
  CHECK(static_cast<double>(parameter_count(known("transformer-base"))) == doctest::Approx(65e6).epsilon(0.031));
  CHECK(static_cast<double>(parameter_count(known("transformer-big"))) == doctest::Approx(213e6).epsilon(0.006));
}

// Zhang et al., "CPM: A Large-scale Generative Chinese Pre-trained Language Model", 2020, arXiv:2012.00413, table 1:
// 334 million and 2.6 billion. By hand for medium: 30000 x 1024 + 1024 x 1024 + 24 x (12 x 1024^2 + 13 x 1024) + 2 x
// 1024.
TEST_CASE("sequence networks: CPM has the parameters of its paper") {
  CHECK(parameter_count(known("cpm-medium")) == 334'080'000);
  CHECK(parameter_count(known("cpm-large")) == 2'597'073'920);
  CHECK(static_cast<double>(parameter_count(known("cpm-medium"))) == doctest::Approx(334e6).epsilon(0.5 / 334));
  CHECK(static_cast<double>(parameter_count(known("cpm-large"))) == doctest::Approx(2.6e9).epsilon(0.05 / 2.6));
}

// Hugging Face's BertForMaskedLM of bert-large-uncased has 335,174,458 parameters. vPipe rounds the 30522 word pieces
// up to a multiple of 8: 6 more rows of 1024 and 6 more biases. A block has 12 x 1024^2 + 13 x 1024.
TEST_CASE("sequence networks: BERT with its masked-language head has the published parameters") {
  const TransformerSize large{.layers = 24, .hidden = 1024, .heads = 16};
  CHECK(parameter_count(bert("b", large, BertHead::MaskedLanguage)) == 335'174'458);
  const std::int64_t of_24 = 335'174'458 + std::int64_t{6} * 1025;
  CHECK(parameter_count(known("bert-24")) == of_24);
  CHECK(parameter_count(known("bert-48")) == of_24 + std::int64_t{24} * (12 * 1024 + 13) * 1024);
  CHECK(tied_parameter_count(known("bert-48")) == 30'528 * 1024);
}

// Normalised before each half, a side has one normalisation more: 2 x 2 h parameters in all. The words aside, that is
// the only difference to the Transformer of the paper: 33712 x 1024 + 6 x (12 h^2 + 9 h) + 6 x (16 h^2 + 11 h) + 4 h.
TEST_CASE("sequence networks: a Transformer normalised before its halves has two more normalisations") {
  EncoderDecoderSize size{.layers = 6, .hidden = 1024, .heads = 16, .vocabulary = 33'712};
  const std::int64_t after = parameter_count(encoder_decoder("e", size));
  CHECK(parameter_count(encoder_decoder("e", size, NormPlace::Before)) == after + std::int64_t{4} * 1024);
  CHECK(parameter_count(known("transformer-6-6")) == after + std::int64_t{4} * 1024);
  size.layers = 12;
  CHECK(parameter_count(known("transformer-12-12")) ==
        parameter_count(encoder_decoder("e", size)) + std::int64_t{4} * 1024);
  CHECK(parameter_count(known("transformer-6-6")) == 210'808'832);
}

// The halves are pre-normalised: the stream itself goes from addition to addition, and no half keeps it but as the
// input of its normalisation. s = t = 4 tokens, h = 8, two heads: a cross-attention keeps the stream, its
// normalisation, the encoder's output, queries, keys, values and context (7 x 4 x 8), softmax and its dropped copy (2 x
// 2 x 4 x 4): 288 values of 4 bytes; statistics 4 x 8 B, masks 2 x 4 x 4 B and 4 x 8 B.
TEST_CASE("sequence networks: the cross-attention of a pre-normalised Transformer keeps what its operators need") {
  const EncoderDecoderSize size{.layers = 1, .hidden = 8, .heads = 2, .sequence = 4};
  const LayerGraph graph = built(encoder_decoder("e", size, NormPlace::Before));
  CHECK(layer_of(graph, "decoder.block0.cross_attention").stash == Bytes(288 * 4 + 32 + 32 + 32));
  CHECK(readers(graph, "encoder.norm") == std::set<std::string>{"decoder.block0.cross_attention"});
  CHECK(readers(graph, "encoder.block0.mlp") == std::set<std::string>{"encoder.norm"});
}

TEST_CASE("sequence networks: tables that two layers use are copied to the second") {
  CHECK(tied_parameter_count(gnmt("g", {})) == 32'320 * 1024);
  CHECK(tied_parameter_count(known("transformer-big")) == 2 * 37'000 * 1024);  // the decoder's words and the head
  CHECK(tied_parameter_count(known("xlnet-large")) == 0);
  // and of 2 x 23 tables of 32 buckets for 16 heads
  CHECK(tied_parameter_count(known("t5-large")) == 2 * 32'128 * 1024 + 2 * 23 * 32 * 16);
}

// Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021,
// appendix: a block takes 24 s h^2 + 4 s^2 h. A cross-attention of t queries to s keys adds, counted alike, 4 t h^2 for
// queries and output, 4 s h^2 for keys and values and 4 s t h for the two products; the logits are 2 t h V.
TEST_CASE("sequence networks: Transformer and T5 take the operations of the Megatron formula") {
  struct Case {
    const char* name;
    double n, h, s, t, v;
  };
  for (const Case& c :
       {Case{"transformer-base", 6, 512, 128, 128, 37'000}, Case{"transformer-big", 6, 1024, 128, 128, 37'000},
        Case{"transformer-6-6", 6, 1024, 128, 128, 33'712}, Case{"transformer-12-12", 12, 1024, 128, 128, 33'712},
        Case{"t5-small", 6, 512, 512, 114, 32'128}, Case{"t5-large", 24, 1024, 512, 114, 32'128}}) {
    const double encoder = 24 * c.s * c.h * c.h + 4 * c.s * c.s * c.h;
    const double cross = 4 * c.t * c.h * c.h + 4 * c.s * c.h * c.h + 4 * c.s * c.t * c.h;
    const double decoder = 24 * c.t * c.h * c.h + 4 * c.t * c.t * c.h + cross;
    const double expected = c.n * (encoder + decoder) + 2 * c.t * c.h * c.v;
    CHECK_MESSAGE(operations(known(c.name)) == doctest::Approx(expected).epsilon(1e-12), c.name);
  }
}

// The same formula without a decoder; BERT's head has a dense layer, 2 s h^2, before the logits.
TEST_CASE("sequence networks: CPM and BERT-48 take the operations of the Megatron formula") {
  const auto blocks = [](double n, double h, double s) { return n * (24 * s * h * h + 4 * s * s * h); };
  const double s = 696;
  CHECK(operations(known("cpm-medium")) == doctest::Approx(blocks(24, 1024, s) + 2 * s * 1024 * 30'000).epsilon(1e-12));
  CHECK(operations(known("cpm-large")) == doctest::Approx(blocks(32, 2560, s) + 2 * s * 2560 * 30'000).epsilon(1e-12));
  const double head = 2 * 128 * 1024.0 * 1024 + 2 * 128 * 1024.0 * 30'528;
  CHECK(operations(known("bert-48")) == doctest::Approx(blocks(48, 1024, 128) + head).epsilon(1e-12));
}

// Multiply-accumulates of a block by hand: queries, keys, values and output 4 s h^2; position keys of 2 s distances
// 2 s h^2; content scores and context 2 s^2 h; position scores 2 s^2 h; segments 2 s h and, for each of a heads, 2 s^2;
// feed-forward 8 s h^2.
TEST_CASE("sequence networks: XLNet takes a seventh more operations in its weights than BERT, and twice the scores") {
  const double s = 512;
  const double h = 1024;
  const double macs = 14 * s * h * h + 4 * s * s * h + 2 * s * h + 2 * 16 * s * s;
  CHECK(operations(known("xlnet-large")) == doctest::Approx(24 * 2 * macs).epsilon(1e-12));
}

// Kaplan et al., "Scaling Laws for Neural Language Models", 2020, section 2.1: two operations for each weight a token
// meets. A step of an LSTM meets 4 h (h_in + h) weights; by hand for four layers on either side, s = t = 50: encoder
// 8 h^2 twice, 12 h^2, 8 h^2 twice; decoder 8 h^2, 12 h^2 three times; attention h^2 twice, 2 s h for each target;
// head.
TEST_CASE("sequence networks: GNMT takes two operations for each weight that a token meets") {
  const double h = 1024;
  const double weights = (2 * 8 + 12 + 2 * 8 + 8 + 3 * 12 + 2) * h * h + 32'320 * h + 2 * 50 * h;
  CHECK(operations(known("gnmt-8")) == doctest::Approx(50 * 2 * weights).epsilon(1e-12));
}

TEST_CASE("sequence networks: the encoder's output reaches every cross-attention, and is needed in every later cut") {
  const Architecture net = known("transformer-big");
  const LayerGraph graph = built(net);
  std::set<std::string> expected = {};
  for (int block = 0; block < 6; ++block) {
    expected.insert("decoder.block" + std::to_string(block) + ".cross_attention");
  }
  CHECK(readers(graph, "encoder.block5.mlp") == expected);
  CHECK(readers(graph, "decoder.embedding") == std::set<std::string>{"decoder.block0.attention"});
  const std::vector<Bytes> cuts = cut_bytes(graph, canonical_order(graph));
  const Bytes tensor(std::int64_t{4} * 128 * 1024);
  CHECK(cuts.at(0) == tensor);                            // within the encoder
  CHECK(cuts.at(graph.layers.size() - 5) == tensor * 2);  // before the last cross-attention: memory and stream
  CHECK(cuts.back() == tensor);
}

TEST_CASE(
    "sequence networks: T5's decoder reads the normalised encoder, GNMT's layers the context, XLNet's positions") {
  CHECK(readers(built(known("t5-small")), "encoder.norm").size() == 6);
  const LayerGraph gnmt8 = built(known("gnmt-8"));
  CHECK(readers(gnmt8, "decoder.attention") ==
        std::set<std::string>{"decoder.lstm1", "decoder.lstm2", "decoder.lstm3"});
  CHECK(readers(gnmt8, "encoder.lstm3") == std::set<std::string>{"decoder.attention"});
  CHECK(readers(gnmt8, "decoder.lstm1") == std::set<std::string>{"decoder.lstm2"});  // the residual is within it
  const LayerGraph xlnet_base = built(known("xlnet-base"));
  CHECK(readers(xlnet_base, "positions").size() == 12);
  CHECK(layer_of(xlnet_base, "positions").backward == Seconds(0));
}

// s = 4 tokens, h = 8, two heads of 3: kept are the input of the normalisation and its output (2 s h), queries, keys,
// values and context (4 x 4 x 6), softmax and its dropped copy (2 x 2 x 4 x 4): 224 values of 4 bytes; statistics 4 x 4
// B, masks 2 x 4 x 4 B and 4 x 8 B.
TEST_CASE("sequence networks: the attention half of T5 keeps what its operators need") {
  const Architecture net = t5("t", {.layers = 1, .hidden = 8, .heads = 2, .head_size = 3, .sequence = 4});
  CHECK(layer_of(built(net), "encoder.block0.attention").stash == Bytes(224 * 4 + 16 + 32 + 32));
  CHECK(layer_of(built(net), "encoder.block0.attention").parameters ==
        Bytes(std::int64_t{4} * (8 + 4 * 8 * 6 + 32 * 2)));
}

// An LSTM layer of 2 tokens, h = 4: input and output 8 values each and five for each state, 40: 56 values of 4 bytes;
// dropout masks of 8 bytes. From the third layer on it holds 4 (4 + 4) 4 + 8 x 4 = 160 parameters.
TEST_CASE("sequence networks: an LSTM keeps its input, its output, its gates and its cells") {
  const LayerGraph graph = built(gnmt("g", {.layers = 3, .hidden = 4, .sequence = 2, .vocabulary = 10}));
  CHECK(layer_of(graph, "encoder.lstm2").stash == Bytes(56 * 4 + 8));
  CHECK(layer_of(graph, "encoder.lstm2").parameters == Bytes(std::int64_t{4} * 160));
  CHECK(layer_of(graph, "encoder.lstm0").parameters == Bytes(std::int64_t{4} * 2 * 160));
}

TEST_CASE("sequence networks: sizes left out follow from the others") {
  const Architecture usual = t5("t", {.layers = 2, .hidden = 64, .heads = 4, .sequence = 16, .vocabulary = 100});
  CHECK(usual == t5("t", {.layers = 2,
                          .decoder_layers = 2,
                          .hidden = 64,
                          .heads = 4,
                          .head_size = 16,
                          .feed_forward = 256,
                          .sequence = 16,
                          .target_sequence = 16,
                          .vocabulary = 100}));
}

TEST_CASE("sequence networks: sizes that do not fit together are refused") {
  CHECK_THROWS_WITH_AS(encoder_decoder("e", {.hidden = 100, .heads = 12}),
                       "hidden must be a multiple of heads, found 100 and 12", InputError);
  CHECK_THROWS_AS(t5("t", {.layers = 0}), InputError);
  CHECK_THROWS_AS(t5("t", {.heads = 0}), InputError);
  CHECK_THROWS_AS(t5("t", {.heads = 1024, .head_size = 1024}), InputError);
  CHECK_THROWS_AS(encoder_decoder("e", {.vocabulary = 1'000'000'000}), InputError);
  CHECK_THROWS_AS(xlnet("x", {.hidden = 100, .heads = 12}), InputError);
  CHECK_THROWS_AS(gnmt("g", {.layers = 1}), InputError);
  CHECK_THROWS_AS(gnmt("g", {.hidden = 1 << 20}), InputError);
}

}  // namespace stagecraft::sequence_networks_test
