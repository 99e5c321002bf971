#include "sim/workload/decoder.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/decoder_catalogue.hpp"
#include "sim/workload/decoder_families.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace stagecraft::decoder_test {

namespace {

DecoderSize size_of(std::string_view name) {
  const auto found = std::ranges::find(decoder_networks(), name, &DecoderNetwork::name);
  REQUIRE(found != decoder_networks().end());
  return found->size;
}

/// A block as one layer, with activations of two bytes.
Layer block_in_16_bit(const Architecture& net, const std::string& name, std::int64_t samples = 1) {
  DeviceDescription device = find_device("H100-SXM5-80GB").value();
  device.precision = Precision::Fp16;
  const Model model = build_model(net, device, samples, Granularity::Block);
  for (const Layer& layer : model.profiles.at(0).layers) {
    if (layer.name == name) return layer;
  }
  FAIL("no block ", name);
  return {};
}

DecoderSize small_llama() {
  DecoderSize size = decoder_family("llama").usual;
  size.layers = 2;
  size.hidden = 64;
  size.heads = 4;
  size.feed_forward = 96;
  size.sequence = 16;
  return size;
}

DecoderSize small_mixtral() {
  DecoderSize size = small_llama();
  size.experts = {.count = 8, .active = 2, .feed_forward = 32};
  return size;
}

DecoderSize small_deepseek() {
  DecoderSize size = small_llama();
  size.latent = {.key_value_rank = 32, .nope = 8, .rope = 4, .value = 8};
  return size;
}

std::string defect(const DecoderSize& size) {
  const auto found = defect_of(size);
  return found ? found->key + ": " + found->expected : "none";
}

}  // namespace

// The counts that Hugging Face shows for the authors' checkpoints, from the headers of their files (huggyllama/llama-…,
// meta-llama, mistralai, Qwen, deepseek-ai, EleutherAI, tiiuae, facebook, bigscience); those of GPT-NeoX and BLOOM also
// in the paper and the model cards. Falcon's files hold the tied head a second time: 7,217,189,760 and 179,522,565,120.
TEST_CASE("decoder: parameter counts equal the published ones") {
  const std::map<std::string, std::int64_t> published = {
      {"llama-7b", 6'738'415'616},
      {"llama-13b", 13'015'864'320},
      {"llama-30b", 32'528'943'616},
      {"llama-65b", 65'285'660'672},
      {"llama2-7b", 6'738'415'616},
      {"llama2-13b", 13'015'864'320},
      {"llama2-70b", 68'976'648'192},
      {"llama3-8b", 8'030'261'248},
      {"llama3-70b", 70'553'706'496},
      {"llama3.1-405b", 405'853'388'800},
      {"llama3.2-1b", 1'235'814'400},
      {"llama3.2-3b", 3'212'749'824},
      {"mistral-7b", 7'241'732'096},
      {"mixtral-8x7b", 46'702'792'704},
      {"mixtral-8x22b", 140'620'634'112},
      {"qwen2-0.5b", 494'032'768},
      {"qwen2-1.5b", 1'543'714'304},
      {"qwen2-7b", 7'615'616'512},
      {"qwen2-72b", 72'706'203'648},
      {"qwen3-0.6b", 596'049'920},
      {"qwen3-1.7b", 1'720'574'976},
      {"qwen3-4b", 4'022'468'096},
      {"qwen3-8b", 8'190'735'360},
      {"qwen3-14b", 14'768'307'200},
      {"qwen3-32b", 32'762'123'264},
      {"qwen3-30b-a3b", 30'532'122'624},
      {"qwen3-235b-a22b", 235'093'634'560},
      {"deepseek-v2-lite", 15'706'484'224},
      {"deepseek-v2", 235'741'434'880},
      {"deepseek-v3", 671'026'419'200},
      {"gpt-neox-20b", 20'554'567'680},
      {"falcon-7b", 7'217'189'760 - std::int64_t{65'024} * 4'544},
      {"falcon-40b", 41'303'293'952},
      {"falcon-180b", 179'522'565'120 - std::int64_t{65'024} * 14'848},
      {"opt-125m", 125'239'296},
      {"opt-350m", 331'196'416},
      {"opt-1.3b", 1'315'758'080},
      {"opt-2.7b", 2'651'596'800},
      {"opt-6.7b", 6'658'473'984},
      {"opt-13b", 12'853'473'280},
      {"opt-30b", 29'974'540'288},
      {"bloom-560m", 559'214'592},
      {"bloom-1b1", 1'065'314'304},
      {"bloom-1b7", 1'722'408'960},
      {"bloom-3b", 3'002'557'440},
      {"bloom-7b1", 7'069'016'064},
      {"bloom-176b", 176'247'271'424}};
  for (const auto& [name, count] : published) {
    CAPTURE(name);
    CHECK(parameter_count(find_architecture(name).value()) == count);
  }
}

// No published file: 12 L h^2 + 13 L h in blocks, words and positions, the last norm.
TEST_CASE("decoder: the largest OPTs have the parameters of their form") {
  const auto expected = [](std::int64_t layers, std::int64_t hidden) {
    return layers * (12 * hidden + 13) * hidden + (50'272 + 2'050 + 2) * hidden;
  };
  CHECK(parameter_count(find_architecture("opt-66b").value()) == expected(64, 9'216));
  CHECK(parameter_count(find_architecture("opt-175b").value()) == expected(96, 12'288));
}

// Mistral 7B v0.3 and Gemma 7B (gated GELU, heads wider than the hidden size, tied), on Hugging Face.
TEST_CASE("decoder: networks outside the catalogue have their published parameters") {
  DecoderSize mistral = size_of("mistral-7b");
  mistral.vocabulary = 32'768;
  CHECK(parameter_count(decoder("m", mistral)) == 7'248'023'552);
  CHECK(parameter_count(decoder("g", {.layers = 28,
                                      .hidden = 3'072,
                                      .heads = 16,
                                      .head_size = 256,
                                      .feed_forward = 24'576,
                                      .sequence = 8'192,
                                      .vocabulary = 256'000,
                                      .form = {.activation = DecoderActivation::Gelu, .tied = true}})) ==
        8'537'680'896);
}

// Two operations for each weight of a product that a token meets, and for each of a head's values and each key; of the
// experts only the visited ones. By hand for every name of the catalogue.
TEST_CASE("decoder: forward operations are those of the weights a token meets and of its scores") {
  for (const DecoderNetwork& network : decoder_networks()) {
    CAPTURE(network.name);
    const DecoderSize& n = network.size;
    const std::int64_t h = n.hidden;
    const std::int64_t d = n.head_size > 0 ? n.head_size : h / n.heads;
    const std::int64_t k = n.key_value_heads > 0 ? n.key_value_heads : n.heads;
    const std::int64_t f = n.feed_forward > 0 ? n.feed_forward : 4 * h;
    const std::int64_t keys = n.window > 0 ? std::min(n.window, n.sequence) : n.sequence;
    std::int64_t attention = h * d * (n.heads + 2 * k) + n.heads * d * h + keys * n.heads * 2 * d;
    if (const LatentSize& l = n.latent; l.key_value_rank > 0) {
      const std::int64_t queries = n.heads * (l.nope + l.rope);
      attention = (l.query_rank > 0 ? l.query_rank * (h + queries) : h * queries) + h * (l.key_value_rank + l.rope) +
                  l.key_value_rank * n.heads * (l.nope + l.value) + n.heads * l.value * h +
                  keys * n.heads * (l.nope + l.rope + l.value);
    }
    const std::int64_t dense = n.experts.count > 0 ? n.experts.dense_layers : n.layers;
    const std::int64_t mlp = (n.form.gated ? 3 : 2) * h * f;
    const ExpertSize& e = n.experts;
    const std::int64_t sparse = 3 * h * (e.active * e.feed_forward + e.shared_feed_forward) + h * e.count;
    const std::int64_t narrow = n.embedding_size > 0 ? n.embedding_size : h;
    const std::int64_t ends = narrow * n.vocabulary + (narrow != h ? 2 * h * narrow : 0);
    const std::int64_t token = n.layers * attention + dense * mlp + (n.layers - dense) * sparse + ends;
    CHECK(forward_flops(make_architecture(network)).value() == static_cast<double>(2 * n.sequence * token));
  }
}

// The hidden half of the scores: L s^2 a d multiply-adds for queries and keys, as many for the values, less half.
TEST_CASE("decoder: a causal mask spares half of the scores, less where a window spares more") {
  const Architecture llama = find_architecture("llama3-8b").value();
  CHECK(masked_flops(llama).value() == 32.0 * 2 * 8192 * 8192 * 4096);
  CHECK(forward_flops(llama).value() - masked_flops(llama).value() == 140'548'509'794'304.0);
  // 16 queries read the last 4 keys: half of the first 4 x 4 scores are hidden.
  DecoderSize size = small_llama();
  size.window = 4;
  const Architecture net = decoder("w", size);
  CHECK(masked_flops(net).value() == 2.0 * 2 * (2 * 64) * 8);
  size.window = 1 << 10;
  DecoderSize all = small_llama();
  CHECK(decoder("w", size).operators == decoder("w", all).operators);
}

// T = 8192 tokens, two bytes a value. Kept: the stream before both norms and both norms' outputs, queries, keys and
// values, the output of the attention and four bytes for each token and head, three inner tensors of the gated MLP,
// four bytes for each token and norm.
TEST_CASE("decoder: a block of Llama keeps the tensors of fused attention and a gated MLP") {
  const std::int64_t t = 8192;
  const std::int64_t expected = 2 * t * (4 * 4096 + 128 * (32 + 2 * 8) + 128 * 32 + 3 * 14'336) + 4 * t * 32 + 8 * t;
  const Architecture net = find_architecture("llama3-8b").value();
  CHECK(block_in_16_bit(net, "block7").stash == Bytes(expected));
  CHECK(expected == 1'141'964'800);
  CHECK(block_in_16_bit(net, "block7", 3).stash == Bytes(3 * expected));
  CHECK(block_in_16_bit(net, "block7").checkpoint == Bytes(2 * t * 4096));
}

// T = 4096: beside the norms' tensors of h = 7168 the latent vectors of 1536 and 512 + 64 and the norms of 1536 and 512
// of them; for each of 128 heads queries and keys of 192, values and outputs of 128. Block 0 has an MLP of 18432, block
// 5 visits 8 of 256 experts of 2048 and a shared one: inputs, three inner tensors and outputs for each visit, and a
// probability of four bytes for each expert.
TEST_CASE("decoder: blocks of DeepSeek-V3 keep latent vectors, all heads and what each expert reads") {
  const std::int64_t t = 4096;
  const std::int64_t norms = 2 * t * 4 * 7168 + 8 * t;
  const std::int64_t latent = 2 * t * (1536 + 576 + 1536 + 512) + 8 * t;
  const std::int64_t heads = 2 * t * 128 * (2 * 192 + 2 * 128) + 4 * t * 128;
  const Architecture net = find_architecture("deepseek-v3").value();
  CHECK(block_in_16_bit(net, "block0").stash == Bytes(norms + latent + heads + 2 * t * 3 * 18'432));
  CHECK(block_in_16_bit(net, "block0").stash == Bytes(1'395'195'904));
  const std::int64_t experts = 2 * t * 8 * (7168 + 3 * 2048 + 7168) + 4 * t * 256 + 2 * t * 3 * 2048;
  CHECK(block_in_16_bit(net, "block5").stash == Bytes(norms + latent + heads + experts));
  CHECK(block_in_16_bit(net, "block5").stash == Bytes(2'338'914'304));
}

// Norms of queries and keys keep nothing: their backward reads what attention keeps.
TEST_CASE("decoder: a block of Qwen3's experts keeps what its operators need") {
  const std::int64_t t = std::int64_t{2} * 4096;
  const std::int64_t attention = 2 * t * (4 * 2048 + 128 * (32 + 2 * 4) + 128 * 32) + 4 * t * 32 + 8 * t;
  const std::int64_t experts = 2 * t * 8 * (2048 + 3 * 768 + 2048) + 4 * t * 128;
  const Architecture net = find_architecture("qwen3-30b-a3b").value();
  CHECK(block_in_16_bit(net, "block0", 2).stash == Bytes(attention + experts));
  CHECK(attention + experts == 1'129'381'888);
}

// s = 2048, h = 768, 12 heads of 64, layer norms of 8 bytes a token. OPT: plain MLP with ReLU, of which the output is
// kept alone, and two dropouts of one byte a value. Falcon: one norm for both halves; the stream and it are kept once.
TEST_CASE("decoder: plain and parallel blocks keep what their operators need") {
  const std::int64_t t = 2048;
  const std::int64_t h = 768;
  const std::int64_t attention = 2 * t * 4 * h + 4 * t * 12;
  CHECK(block_in_16_bit(find_architecture("opt-125m").value(), "block3").stash ==
        Bytes(2 * t * 4 * h + attention + 2 * t * 4 * h + 2 * t * h + 16 * t));
  DecoderSize falcon = size_of("falcon-7b");
  falcon.hidden = h;
  falcon.heads = 12;
  falcon.key_value_heads = 0;
  CHECK(block_in_16_bit(decoder("f", falcon), "block3").stash ==
        Bytes(2 * t * 2 * h + attention + 2 * t * 2 * 4 * h + 8 * t));
  falcon.form.halves = DecoderHalves::Parallel;
  CHECK(block_in_16_bit(decoder("f", falcon), "block3").stash ==
        Bytes(2 * t * 3 * h + attention + 2 * t * 2 * 4 * h + 16 * t));
}

TEST_CASE("decoder: every network is a chain of its blocks") {
  for (const DecoderNetwork& network : decoder_networks()) {
    CAPTURE(network.name);
    const auto members = operators_of_layers(make_architecture(network), Granularity::Block);
    CHECK(static_cast<std::int64_t>(members.size()) == network.size.layers + 2);
  }
  const DeviceDescription device = find_device("A100-SXM4-80GB").value();
  for (const char* name : {"falcon-7b", "deepseek-v2-lite", "opt-350m"}) {
    CAPTURE(name);
    const LayerGraph graph = build_model(find_architecture(name).value(), device, 1, Granularity::Block).profiles.at(0);
    CHECK(graph.edges.size() == graph.layers.size() - 1);
  }
  const auto halves = operators_of_layers(decoder("d", small_mixtral()), Granularity::Residual);
  CHECK(halves.size() == 2 * 2 + 1);
}

// All parameters of the experts are on the device; a token's products meet those of two.
TEST_CASE("decoder: the products of the experts have a row for each visit") {
  const Architecture net = decoder("m", small_mixtral());
  const auto up = std::ranges::find(net.operators, "block1.experts.expert_up", &Operator::name);
  REQUIRE(up != net.operators.end());
  CHECK(up->parameters == 8 * 64 * 32);
  CHECK(up->macs == 2 * 16 * 64 * 32);
  CHECK(up->input_values == 2 * 16 * 64);
}

TEST_CASE("decoder: a tied head shares the word table, another has its own") {
  DecoderSize size = small_llama();
  const std::int64_t table = size.vocabulary * size.hidden;
  const Architecture own = decoder("d", size);
  CHECK(tied_parameter_count(own) == 0);
  size.form.tied = true;
  const Architecture shared = decoder("d", size);
  CHECK(tied_parameter_count(shared) == table);
  CHECK(parameter_count(shared) == parameter_count(own) - table);
}

TEST_CASE("decoder: sizes that do not fit together are refused") {
  const auto with = [](DecoderSize size, auto change) {
    change(size);
    return defect(size);
  };
  CHECK(defect(small_llama()) == "none");
  CHECK(defect(small_mixtral()) == "none");
  CHECK(defect(small_deepseek()) == "none");
  CHECK(with(small_llama(), [](DecoderSize& s) { s.layers = 0; }) == "layers: a whole number from 1 to 4096");
  CHECK(with(small_llama(), [](DecoderSize& s) { s.window = -1; }) == "window: a whole number from 0 to 1048576");
  CHECK(with(small_llama(), [](DecoderSize& s) { s.hidden = 65; }) == "hidden: a multiple of 'heads', 4");
  CHECK(with(small_llama(), [](DecoderSize& s) { s.key_value_heads = 3; }) ==
        "key_value_heads: a divisor of 'heads', 4");
  CHECK(with(small_llama(), [](DecoderSize& s) { s.head_size = 40'000; }) ==
        "head_size: at most 131072 values in all 'heads'");
  CHECK(with(small_llama(), [](DecoderSize& s) { s.positions = 15; }) == "positions: at least 'sequence', 16");
  CHECK(with(small_llama(), [](DecoderSize& s) { s.experts.active = 1; }) == "experts: at least 1");
  CHECK(with(small_mixtral(), [](DecoderSize& s) { s.experts.active = 9; }) ==
        "active_experts: from 1 to 'experts', 8");
  CHECK(with(small_mixtral(), [](DecoderSize& s) { s.experts.feed_forward = 0; }) == "expert_feed_forward: at least 1");
  CHECK(with(small_mixtral(), [](DecoderSize& s) { s.experts.feed_forward = 300'000; }) ==
        "expert_feed_forward: at most 524288 in all active experts");
  CHECK(with(small_mixtral(), [](DecoderSize& s) { s.experts.dense_layers = 3; }) ==
        "dense_layers: at most 'layers', 2");
  CHECK(with(small_deepseek(), [](DecoderSize& s) { s.head_size = 8; }) ==
        "head_size: none beside the sizes of latent attention");
  CHECK(with(small_deepseek(), [](DecoderSize& s) { s.key_value_heads = 2; }) ==
        "key_value_heads: none with latent attention");
  CHECK(with(small_deepseek(), [](DecoderSize& s) { s.latent.nope = s.latent.rope = 0; }) ==
        "nope_size: at least 1, or a 'rope_size'");
  CHECK(with(small_deepseek(), [](DecoderSize& s) { s.latent.value = 0; }) == "value_size: at least 1");
  CHECK(with(small_deepseek(), [](DecoderSize& s) { s.latent.nope = 40'000; }) ==
        "nope_size: at most 131072 values in all 'heads'");
  CHECK(with(small_deepseek(), [](DecoderSize& s) { s.latent.value = 40'000; }) ==
        "value_size: at most 131072 values in all 'heads'");
  CHECK(with(small_llama(), [](DecoderSize& s) {
          s.form.normalize_after = true;
          s.form.halves = DecoderHalves::Parallel;
        }) == "normalize: 'before' where attention and MLP are parallel");
  CHECK_THROWS_WITH_AS(static_cast<void>(decoder("d", {.layers = 1})),
                       "the size 'hidden' of a decoder: expected a whole number from 1 to 131072", InputError);
}

// By hand: 64 weights for each of two blocks; 16 tokens of 64 multiply-adds each.
TEST_CASE("decoder: a gate of the shared experts weighs what they add to the stream") {
  DecoderSize size = small_mixtral();
  size.experts.shared_feed_forward = 48;
  const Architecture plain = decoder("d", size);
  size.experts.shared_gate = true;
  const Architecture gated = decoder("d", size);
  CHECK(parameter_count(gated) == parameter_count(plain) + 2 * 64);
  CHECK(forward_flops(gated).value() == forward_flops(plain).value() + 2.0 * 2 * 16 * 64);
  const auto named = [&](const std::string& name) {
    return std::ranges::find(gated.operators, name, &Operator::name) - gated.operators.begin();
  };
  const Operator& scaled = gated.operators[OperatorId(static_cast<std::size_t>(named("block1.experts.shared_scale")))];
  CHECK(scaled.inputs.size() == 2);
  CHECK(scaled.saves_input);
  const Operator& sum = gated.operators[OperatorId(static_cast<std::size_t>(named("block1.experts.residual")))];
  CHECK(sum.inputs.at(1).value() == static_cast<std::size_t>(named("block1.experts.shared_scale")));
}

// The largest sizes at once: no count of an operator exceeds 2^60.
TEST_CASE("decoder: the largest sizes are countable") {
  DecoderSize size = largest_decoder();
  size.layers = 1;
  size.key_value_heads = 0;
  size.head_size = 0;
  size.latent = {};
  size.experts = {};
  size.embedding_size = 0;
  for (const bool with_experts : {false, true}) {
    if (with_experts) {
      size.experts = largest_decoder().experts;
      size.experts.feed_forward = largest_decoder().feed_forward / size.experts.active;
      size.experts.dense_layers = 0;
    }
    for (const Operator& op : decoder("d", size).operators) {
      CAPTURE(op.name);
      for (const std::int64_t count :
           {op.macs, op.kernel.masked_macs, op.parameters, op.input_values, op.output_values}) {
        CHECK(count >= 0);
        CHECK(count <= std::int64_t{1} << 60);
      }
    }
  }
}

// A token is multiplied with all weights but the word table and the 65 norms of 4096 values; in each of 32 blocks its
// scores take 2·s·a·d operations, and the sum of the values that they weigh as many.
TEST_CASE("decoder: Llama 3 8B has twice its weights and 4·s·a·d operations for each token") {
  const std::int64_t weights = 8'030'261'248 - std::int64_t{128'256} * 4'096 - std::int64_t{65} * 4'096;
  const std::int64_t token = 2 * weights + std::int64_t{32} * 4 * 8'192 * 4'096;
  const DeviceDescription device = find_device("H100-SXM5-80GB", Precision::Bf16).value();
  for (const std::int64_t samples : {1, 3}) {
    const SampleWork work = build_model(find_architecture("llama3-8b").value(), device, samples).profiles.at(0).work;
    CHECK(work.forward.value() == static_cast<double>(8'192 * token));
    CHECK(work.masked.value() == 32.0 * 2 * 8'192 * 8'192 * 4'096);
    CHECK(work.tokens == 8'192);
  }
}

}  // namespace stagecraft::decoder_test
