// Networks as one member of a tensor group has them. T tokens, R = T/t of them with sequence parallelism, h hidden, a
// heads, k of keys and values, of size d each, f inner size, t members; activations of two bytes.
#include "sim/base/error.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/computed_profiles.hpp"
#include "sim/workload/decoder.hpp"
#include "sim/workload/decoder_families.hpp"
#include "sim/workload/transformer.hpp"
#include "sim/workload/vit.hpp"
#include "tests/workload/group_networks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::tensor_group_test {

using namespace group_networks;

namespace {

constexpr Degrees kPlain{.tensor = 4, .sequence = false};
constexpr Degrees kSequence{.tensor = 4, .sequence = true};

Architecture small_gpt() {
  return gpt("g", {.layers = 2, .hidden = 64, .heads = 8, .sequence = 16, .vocabulary = 1000, .positions = 16});
}

Architecture small_bert(BertHead head) {
  return bert("b", {.layers = 2, .hidden = 64, .heads = 8, .sequence = 16, .vocabulary = 1000, .positions = 16}, head);
}

Exchange exchange(Exchange::Kind kind, std::int64_t bytes, std::int64_t count, bool hidden = false) {
  return {.kind = kind, .bytes = Bytes(bytes), .count = count, .hidden = hidden};
}

std::vector<Architecture> small_networks() {
  std::vector<Architecture> networks;
  for (const DecoderFamily& family : decoder_families()) {
    networks.push_back(decoder(std::string(family.name), small_decoder(std::string(family.name))));
  }
  DecoderSize post = small_decoder("opt");
  post.embedding_size = 32;
  post.form.normalize_after = true;
  networks.push_back(decoder("post-norm", post));
  DecoderSize shared = small_decoder("qwen3");
  shared.experts = {.count = 8, .active = 2, .feed_forward = 32, .shared_feed_forward = 64, .shared_gate = true};
  networks.push_back(decoder("shared", shared));
  networks.push_back(small_gpt());
  networks.push_back(small_bert(BertHead::Pretraining));
  networks.push_back(small_bert(BertHead::MaskedLanguage));
  return networks;
}

}  // namespace

TEST_CASE("tensor group: a group of one device has the network itself") {
  for (const char* name : {"llama3-8b", "deepseek-v3", "gpt2-xl", "bert-48", "resnet50"}) {
    CAPTURE(name);
    const Architecture net = find_architecture(name).value();
    CHECK(member_of(net, {.tensor = 1, .vocabulary_multiple = 128}) == net);
  }
}

TEST_CASE("tensor group: a member has its part of the products, whole norms, and copies of few keys and values") {
  DecoderSize size = small_decoder("llama");
  size.key_value_heads = 2;  // of 8 values; 4 members have one each
  const std::int64_t attention = 64 * 8 * (2 + 2) + 2 * 8 * 64;
  const std::int64_t block = attention + 3 * 64 * (96 / 4) + 2 * 64;
  const Architecture part = member_of(decoder("l", size), kPlain);
  CHECK(parameter_count(part) == 2 * block + 2 * 250 * 64 + 64);
  CHECK(member_of(decoder("l", size), kSequence).operators.size() == part.operators.size());
}

TEST_CASE("tensor group: rows of the table of words are padded to a multiple") {
  const Architecture net = decoder("l", small_decoder("llama"));  // 1000 words: 250 a member, or 2 x 128
  const std::int64_t plain = parameter_count(member_of(net, kPlain));
  CHECK(parameter_count(member_of(net, {.tensor = 4, .vocabulary_multiple = 128})) == plain + 2 * 6 * 64);
}

TEST_CASE("tensor group: the sum after a product has its bias once, a divided product its part") {
  // of a block: 2h for each norm, h after attention and MLP; (3h + f)/4 of the others
  const std::int64_t block = (4 * 64 * 64 + 2 * 64 * 256) / 4 + (3 * 64 + 256) / 4 + 2 * 64 + 4 * 64;
  CHECK(parameter_count(member_of(small_gpt(), kPlain)) == 2 * block + (250 + 16 + 2) * 64);
}

TEST_CASE("tensor group: all members together do the work of the whole, if nothing is copied") {
  for (const char* family : {"llama", "qwen2", "bloom", "opt", "falcon", "neox"}) {
    CAPTURE(family);
    DecoderSize size = small_decoder(family);
    size.key_value_heads = 0;
    const Architecture net = decoder(family, size);
    for (const Degrees& degrees : {kPlain, kSequence}) {
      CHECK(4.0 * forward_flops(member_of(net, degrees)).value() == forward_flops(net).value());
      CHECK(4.0 * masked_flops(member_of(net, degrees)).value() == masked_flops(net).value());
    }
  }
  CHECK(4.0 * forward_flops(member_of(small_gpt(), kSequence)).value() == forward_flops(small_gpt()).value());
}

TEST_CASE("tensor group: whole experts run a member's tokens with sequence parallelism, all tokens without") {
  const Architecture net = decoder("m", small_decoder("mixtral"));
  const auto up = [](const Architecture& part) {
    return *std::ranges::find(part.operators, "block0.experts.expert_up", &Operator::name);
  };
  CHECK(up(member_of(net, kPlain)) == up(net));
  CHECK(up(member_of(net, kSequence)).parameters == up(net).parameters);
  CHECK(up(member_of(net, kSequence)).macs * 4 == up(net).macs);
}

// Korthikanti et al., arXiv:2205.05198, sections 4.2: sbh(10 + 24/t + 5as/(ht)) and sbh/t (34 + 5as/h), and 8 bytes for
// each token that a norm reads.
TEST_CASE("tensor group: a member's part of a block of GPT keeps the bytes of Korthikanti's formulas") {
  const std::int64_t stream = 16 * 64 * 3;
  const std::int64_t scores = 5 * 8 * 16 * 16 * 3;
  const auto stash = [](const Degrees& degrees) {
    return layer_of(graph_of(small_gpt(), degrees, Granularity::Block, 3), "block1").stash.value();
  };
  CHECK(stash({.tensor = 4, .sequence = false}) == 10 * stream + (24 * stream + scores) / 4 + 2 * 8 * 16 * 3);
  CHECK(stash({.tensor = 4, .sequence = true}) == (34 * stream + scores) / 4 + 2 * 8 * 4 * 3);
}

// 8 R h + 2 T d (2 a + 2 k)/t + 6 T f/t, 4 T a/t of attention and 2 * 4 R of norms.
TEST_CASE("tensor group: a member's part of a block of Llama keeps what its products, norms and attention need") {
  const Architecture net = decoder("l", small_decoder("llama"));
  const std::int64_t divided = (2 * 16 * 8 * (2 * 8 + 2 * 8) + 6 * 16 * 96 + 4 * 16 * 8) / 4;
  CHECK(layer_of(graph_of(net, kPlain), "block0").stash.value() == 8 * 16 * 64 + divided + 8 * 16);
  CHECK(layer_of(graph_of(net, kSequence), "block0").stash.value() == (8 * 16 * 64 + 8 * 16) / 4 + divided);
  CHECK(layer_of(graph_of(net, kPlain), "block0").checkpoint.value() == 2 * 16 * 64);
  CHECK(layer_of(graph_of(net, kSequence), "block0").checkpoint.value() == 2 * 4 * 64);
}

// Megatron-LM, arXiv:1909.08053, section 3, and arXiv:2205.05198, section 4.2.2.
TEST_CASE("tensor group: each half of a block is entered and left by one exchange each way") {
  using enum Exchange::Kind;
  const std::int64_t whole = 2 * 16 * 64 * 3;
  for (const Architecture& net : small_networks()) {
    CAPTURE(net.name);
    const Layer plain = layer_of(graph_of(net, kPlain, Granularity::Block, 3), "block1");
    CHECK(plain.forward_exchanges == std::vector{exchange(AllReduce, whole, 2)});
    CHECK(plain.backward_exchanges == std::vector{exchange(AllReduce, whole, 2)});
    const Layer part = layer_of(graph_of(net, kSequence, Granularity::Block, 3), "block1");
    CHECK(are_alike(part.forward_exchanges, {exchange(AllGather, whole, 2), exchange(ReduceScatter, whole, 2)}));
    CHECK(are_alike(part.backward_exchanges, {exchange(AllGather, whole, 2), exchange(AllGather, whole, 2, true),
                                              exchange(ReduceScatter, whole, 2)}));
  }
}

TEST_CASE("tensor group: exchanges and parameters do not depend on the granularity") {
  for (const Architecture& net : small_networks()) {
    for (const Degrees& degrees : {kPlain, kSequence}) {
      CAPTURE(net.name);
      const LayerGraph blocks = graph_of(net, degrees);
      for (const Granularity granularity : {Granularity::Operator, Granularity::Layer, Granularity::Residual}) {
        const LayerGraph layers = graph_of(net, degrees, granularity);
        CHECK(are_alike(exchanges_of(layers).forward, exchanges_of(blocks).forward));
        CHECK(are_alike(exchanges_of(layers).backward, exchanges_of(blocks).backward));
        CHECK(totals(layers).parameters == totals(blocks).parameters);
      }
    }
  }
}

// The loss: the largest logit and the sum of exponentials, then the right one, of 4 bytes a token.
TEST_CASE("tensor group: the table of words is divided at both ends, and the loss adds up what each member has") {
  using enum Exchange::Kind;
  const Architecture net = decoder("l", small_decoder("llama"));
  const std::int64_t whole = 2 * 16 * 64;
  const LayerGraph plain = graph_of(net, kPlain);
  CHECK(layer_of(plain, "embedding").forward_exchanges == std::vector{exchange(AllReduce, whole, 1)});
  CHECK(layer_of(plain, "embedding").backward_exchanges.empty());
  CHECK(layer_of(plain, "head").forward_exchanges == std::vector{exchange(AllReduce, 4 * 16, 3)});
  CHECK(layer_of(plain, "head").backward_exchanges == std::vector{exchange(AllReduce, whole, 1)});
  const LayerGraph part = graph_of(net, kSequence);
  CHECK(layer_of(part, "embedding").forward_exchanges == std::vector{exchange(ReduceScatter, whole, 1)});
  CHECK(layer_of(part, "embedding").backward_exchanges == std::vector{exchange(AllGather, whole, 1)});
  CHECK(layer_of(part, "head").forward_exchanges ==
        std::vector{exchange(AllGather, whole, 1), exchange(AllReduce, 4 * 16, 3)});
  CHECK(are_alike(layer_of(part, "head").backward_exchanges,
                  {exchange(AllGather, whole, 1, true), exchange(ReduceScatter, whole, 1)}));
}

// 5 x 5 patches and the class token.
TEST_CASE("tensor group: a Vision Transformer is divided like other blocks; patches and classes are whole") {
  using enum Exchange::Kind;
  const Architecture net = vit("v", {.layers = 2, .hidden = 64, .heads = 8, .patch = 8, .image = 40, .classes = 10});
  const std::int64_t whole = 2 * 26 * 64;
  const std::int64_t divided = 2 * (12 * 64 * 64 + 3 * 64 + 256);
  for (const bool sequence : {false, true}) {
    const Degrees degrees{.tensor = 2, .sequence = sequence};
    CHECK(parameter_count(member_of(net, degrees)) == parameter_count(net) - divided / 2);
    const LayerGraph graph = graph_of(net, degrees);
    CHECK(layer_of(graph, "embedding").forward_exchanges.empty());
    CHECK(graph.edges.front().bytes.value() == (sequence ? whole / 2 : whole));
  }
  const LayerGraph plain = graph_of(net, {.tensor = 2, .sequence = false});
  CHECK(layer_of(plain, "block1").forward_exchanges == std::vector{exchange(AllReduce, whole, 2)});
  CHECK(layer_of(plain, "head").forward_exchanges.empty());
  const LayerGraph part = graph_of(net, {.tensor = 2});
  CHECK(are_alike(layer_of(part, "block1").forward_exchanges,
                  {exchange(AllGather, whole, 2), exchange(ReduceScatter, whole, 2)}));
  CHECK(layer_of(part, "head").forward_exchanges == std::vector{exchange(AllGather, whole, 1)});
}

TEST_CASE("tensor group: layers pass on what a member holds between halves") {
  const Architecture net = decoder("l", small_decoder("llama"));
  CHECK(graph_of(net, kPlain).edges.front().bytes.value() == 2 * 16 * 64);
  CHECK(graph_of(net, kSequence).edges.front().bytes.value() == 2 * 4 * 64);
}

// The backward of `up`: the gradient of its output, T f/t; of its input, T h; and the input gathered again, T h. That
// of `down`: the gathered gradient of its output, T h, and that of its input, T f/t.
TEST_CASE("tensor group: a member holds whole what it gathers, while a product runs") {
  const Architecture net = decoder("l", small_decoder("llama"));
  const LayerGraph plain = graph_of(net, kPlain, Granularity::Operator);
  const LayerGraph part = graph_of(net, kSequence, Granularity::Operator);
  CHECK(layer_of(plain, "block0.mlp.up").workspace.value() == 2 * 16 * (24 + 64));
  CHECK(layer_of(part, "block0.mlp.up").workspace.value() == 2 * 16 * (24 + 64 + 64));
  CHECK(layer_of(part, "block0.mlp.down").workspace == layer_of(plain, "block0.mlp.down").workspace);
  CHECK(layer_of(part, "block0.mlp.down").forward == layer_of(plain, "block0.mlp.down").forward);
  CHECK(layer_of(part, "block0.mlp.norm").output * 4 == layer_of(plain, "block0.mlp.norm").output);
}

TEST_CASE("tensor group: a head with a table of its own stays so in each member") {
  const Architecture net = find_architecture("bert-48").value();  // the table of vPipe's head is a copy
  const LayerGraph graph = graph_of(net, {.tensor = 4});
  CHECK(graph.tied.empty());
  const LayerGraph tied = graph_of(small_gpt(), kPlain);
  REQUIRE(tied.tied.size() == 1);
  CHECK(tied.tied.front().bytes.value() == 2 * 250 * 64);
}

TEST_CASE("tensor group: networks that cannot be divided so are refused with the number and what would do") {
  DecoderSize size = small_decoder("llama");
  size.key_value_heads = 4;
  const Architecture net = decoder("l", size);
  CHECK(refusal(net, {.tensor = 3, .sequence = false}) ==
        "l cannot be divided into a tensor group of 3 devices: its number of heads, 8, is not a multiple of 3 | "
        "degrees that divide it: 1, 2, 4, 8");
  CHECK(refusal(net, {.tensor = 32}) ==
        "l cannot be divided into a tensor group of 32 devices: its number of heads, 8, is not a multiple of 32 | "
        "degrees that divide it: 1, 2, 4, 8");
  size.feed_forward = 98;
  CHECK(refusal(decoder("l", size), {.tensor = 4}) ==
        "l cannot be divided into a tensor group of 4 devices: its number of values inside an MLP, 98, is not a "
        "multiple of 4 | degrees that divide it: 1, 2");
  size = small_decoder("llama");
  size.sequence = 18;
  CHECK(refusal(decoder("l", size), {.tensor = 4}) ==
        "l cannot be divided into a tensor group of 4 devices: its number of tokens of a sample, 18, is not a multiple "
        "of 4 | degrees that divide it: 1, 2; without sequence parallelism (--sequence-parallel false): 1, 2, 4, 8");
  CHECK(refusal(decoder("l", size), {.tensor = 4, .sequence = false}) == "none");
  size.heads = 12;
  size.head_size = 8;
  size.key_value_heads = 3;
  CHECK(refusal(decoder("l", size), {.tensor = 4, .sequence = false}) ==
        "l cannot be divided into a tensor group of 4 devices: its number of heads of keys and values, 3, does not "
        "divide 4 | degrees that divide it: 1, 3, 6, 12");
  CHECK(refusal(find_architecture("t5-small").value(), {.tensor = 2}) ==
        "t5-small cannot be divided into a tensor group: its layers are not those of a decoder, a GPT, a BERT or a "
        "ViT | a group of one device has all of it");
}

TEST_CASE("tensor group: a computed model is divided, for every size and kind; the work is that of the whole") {
  const Model whole = computed_model({"llama3-8b", {}, "layer", "bf16"}, "H100-SXM5-80GB", 2).value();
  const Model member = sharded(whole, {.tensor = 8});
  const LayerGraph& graph = member.profiles.at(0);
  CHECK(graph.degrees == Degrees{.tensor = 8});
  CHECK(graph.work == whole.profiles.at(0).work);
  CHECK(graph.layers.size() == whole.profiles.at(0).layers.size());
  CHECK(totals(graph).parameters < totals(whole.profiles.at(0)).parameters);
  CHECK_FALSE(member.recipe.has_value());
  CHECK(at_microbatch_size(member, 4, "A100-SXM4-80GB").degrees == Degrees{.tensor = 8});
  CHECK(
      member ==
      Model{computed_model({"llama3-8b", {}, "layer", "bf16"}, "H100-SXM5-80GB", 2, {.tensor = 8})->profiles, {}, {}});
  CHECK(sharded(member, {.tensor = 2}) == sharded(whole, {.tensor = 2}));
  CHECK(sharded(whole, {.tensor = 1}) == whole);
}

TEST_CASE("tensor group: measured figures cannot be divided") {
  Model model = computed_model({"llama3-8b", {}, "layer"}, "H100-SXM5-80GB", 1).value();
  model.computed = nullptr;
  CHECK(sharded(model, {}) == model);
  CHECK_THROWS_WITH_AS(static_cast<void>(sharded(model, {.tensor = 2})),
                       doctest::Contains("the model 'llama3-8b' cannot be divided into a tensor group"), InputError);
}

}  // namespace stagecraft::tensor_group_test
