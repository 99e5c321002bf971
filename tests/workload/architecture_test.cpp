#include "sim/workload/architecture.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/transformer.hpp"
#include "sim/workload/vgg.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>

using namespace stagecraft;

namespace {

Architecture known(const std::string& name) {
  const auto found = find_architecture(name);
  REQUIRE(found.has_value());
  return *found;
}

TransformerSize bert_base(std::int64_t sequence) {
  TransformerSize size;
  size.sequence = sequence;
  return size;
}

}  // namespace

// Published counts. Networks for images: torchvision's weights IMAGENET1K_V1 (num_params). BERT: KerasHub's presets
// bert_base_en_uncased and bert_large_en_uncased (the same as BertModel's of Hugging Face); with the pretraining heads:
// the encoder's and, by hand for base, dense 768*768 + 768, norm 2*768, decoder bias 30522, next sentence 2*768 + 2.
// GPT-2: KerasHub's presets gpt2_base_en, gpt2_medium_en, gpt2_large_en and gpt2_extra_large_en.
TEST_CASE("architecture: parameter counts equal the published ones") {
  CHECK(parameter_count(known("alexnet")) == 61'100'840);
  CHECK(parameter_count(known("vgg16")) == 138'357'544);
  CHECK(parameter_count(known("vgg19")) == 143'667'240);
  CHECK(parameter_count(known("resnet50")) == 25'557'032);
  CHECK(parameter_count(known("resnet101")) == 44'549'160);
  CHECK(parameter_count(known("resnet152")) == 60'192'808);
  CHECK(parameter_count(known("inception-v3")) == 27'161'264);
  CHECK(parameter_count(known("densenet121")) == 7'978'856);
  CHECK(parameter_count(known("bert-base")) == 109'482'240);
  CHECK(parameter_count(known("bert-large")) == 335'141'888);
  CHECK(parameter_count(known("bert-base-pretraining")) == 109'482'240 + 590'592 + 1'536 + 30'522 + 1'538);
  CHECK(parameter_count(known("gpt2-small")) == 124'439'808);
  CHECK(parameter_count(known("gpt2-medium")) == 354'823'168);
  CHECK(parameter_count(known("gpt2-large")) == 774'030'080);
  CHECK(parameter_count(known("gpt2-xl")) == 1'557'611'200);
  // Table D.1 of the paper on GPT-3: 12,850 and 174,600 million.
  CHECK(parameter_count(known("gpt3-13b")) == 12'853'386'240);
  CHECK(parameter_count(known("gpt3-175b")) == 174'604'259'328);
}

TEST_CASE("architecture: only a head that shares the word table holds a tied copy") {
  CHECK(tied_parameter_count(known("vgg16")) == 0);
  CHECK(tied_parameter_count(known("bert-large")) == 0);
  CHECK(tied_parameter_count(known("bert-large-pretraining")) == 30522 * 1024);
  CHECK(tied_parameter_count(known("gpt2-small")) == 50257 * 768);
}

// VGG-16: 15.47 G multiply-accumulates at 224x224 (torchvision's "GFLOPS"). BERT-base: 22.5 G operations at sequence
// 128 (MobileBERT, arXiv:2004.02984, table 4). GPT-2 small: 291,648,307,200 at sequence 1024 (nanoGPT,
// transformer_sizing).
TEST_CASE("architecture: forward operations are within one per cent of the published ones") {
  CHECK(forward_flops(known("vgg16")).value() == doctest::Approx(2 * 15.47e9).epsilon(0.01));
  const Architecture short_bert = bert("bert", bert_base(128), BertHead::Pooler);
  CHECK(forward_flops(short_bert).value() == doctest::Approx(22.5e9).epsilon(0.01));
  CHECK(forward_flops(known("gpt2-small")).value() == doctest::Approx(291'648'307'200.0).epsilon(1e-12));
}

// Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021
// (arXiv:2104.04473), appendix: the matrix products of a block take 24 B s h^2 + 4 B s^2 h operations forward, the
// logits 2 B s h V.
TEST_CASE("architecture: GPT of any size takes the operations of the Megatron formula") {
  for (const char* name : {"gpt2-medium", "gpt2-large", "gpt2-xl"}) {
    const Architecture net = known(name);
    const double s = 1024;
    const double v = 50257;
    const double h = static_cast<double>(net.operators[OperatorId(0)].parameters) / v;
    const double blocks = std::string(name) == "gpt2-medium" ? 24 : std::string(name) == "gpt2-large" ? 36 : 48;
    const double expected = blocks * (24 * s * h * h + 4 * s * s * h) + 2 * s * h * v;
    CHECK(forward_flops(net).value() == doctest::Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("architecture: every operator reads tensors that exist before it") {
  for (const WorkloadInfo& info : known_architectures()) {
    const Architecture net = known(info.name);
    CHECK(info.summary == net.summary);
    for (const OperatorId id : indices(net.operators)) {
      CHECK_FALSE(net.operators[id].inputs.empty());
      for (const OperatorId input : net.operators[id].inputs) CHECK((input.is_none() || input < id));
    }
  }
  CHECK_FALSE(find_architecture("vgg-sixteen").has_value());
}

TEST_CASE("architecture: sizes that do not fit together are refused") {
  CHECK_THROWS_WITH_AS(gpt("g", {.hidden = 100, .heads = 12}), "hidden must be a multiple of heads, found 100 and 12",
                       InputError);
  CHECK_THROWS_WITH_AS(bert("b", bert_base(513), BertHead::Pooler),
                       "a sequence of 513 tokens does not fit in 512 positions", InputError);
  CHECK_THROWS_AS(bert("b", {.layers = 0}, BertHead::Pooler), InputError);
  CHECK_THROWS_AS(vgg("v", {.blocks = {{64}, {}}}), InputError);
  CHECK_THROWS_AS(gpt("g", {.vocabulary = 1'000'000'000}), InputError);
  CHECK_THROWS_AS(vgg("v", {.blocks = {{64, 20'000}}}), InputError);
  VggSize tiny = vgg16_size();
  tiny.image = 31;  // five halvings leave nothing
  CHECK_THROWS_AS(vgg("v", tiny), InputError);
}

TEST_CASE("architecture: a larger image changes VGG's operations but not its parameters") {
  VggSize large = vgg16_size();
  large.image = 448;
  const Architecture net = vgg("vgg16", large);
  CHECK(parameter_count(net) == 138'357'544);
  // 15,346,630,656 multiply-accumulates in convolutions, four times as many pixels; 123,633,664 in the linear layers
  CHECK(forward_flops(net).value() == doctest::Approx(2 * (4 * 15'346'630'656.0 + 123'633'664.0)).epsilon(1e-12));
}

TEST_CASE("architecture: the reference page lists every network with its parameters, and every device") {
  std::ifstream file(std::string(STAGECRAFT_SOURCE_DIR) + "/docs/reference/workloads.md");
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (const WorkloadInfo& info : known_architectures()) {
    CAPTURE(info.name);
    std::string count = std::to_string(parameter_count(known(info.name)));
    for (std::size_t at = count.size(); at > 3; at -= 3) count.insert(at - 3, ",");
    const std::size_t row = page.find("| `" + info.name + "` |");
    REQUIRE(row != std::string::npos);
    CHECK(page.substr(row, page.find('\n', row) - row).find("| " + count + " |") != std::string::npos);
  }
  for (const WorkloadInfo& info : known_devices()) CHECK(page.find("| `" + info.name + "` |") != std::string::npos);
}
