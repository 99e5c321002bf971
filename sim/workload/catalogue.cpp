#include "sim/workload/catalogue.hpp"

#include "sim/workload/decoder_catalogue.hpp"
#include "sim/workload/encoder_decoder.hpp"
#include "sim/workload/gnmt.hpp"
#include "sim/workload/image_catalogue.hpp"
#include "sim/workload/transformer.hpp"
#include "sim/workload/vit.hpp"
#include "sim/workload/xlnet.hpp"

#include <algorithm>
#include <array>

namespace stagecraft {
namespace {

// Sizes: BERT, table 1 of arXiv:1810.04805 and its published configuration files (uncased, 30522 word pieces); GPT-2,
// table 2 of the GPT-2 paper and the hparams.json of the published weights (50257 tokens, 1024 positions).
constexpr TransformerSize kBertBase{.layers = 12, .hidden = 768, .heads = 12};
constexpr TransformerSize kBertLarge{.layers = 24, .hidden = 1024, .heads = 16};

constexpr TransformerSize gpt2(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  return {.layers = layers, .hidden = hidden, .heads = heads, .sequence = 1024, .vocabulary = 50257, .positions = 1024};
}

// Table 3 of arXiv:1706.03762, which shares 37000 word pieces; sentences of 128 tokens are assumed.
constexpr EncoderDecoderSize kTransformerBase{.layers = 6, .hidden = 512, .heads = 8, .sequence = 128};
constexpr EncoderDecoderSize kTransformerBig{.layers = 6, .hidden = 1024, .heads = 16, .sequence = 128};

// The published configuration files: 32128 word pieces, inputs of 512 tokens; span corruption makes targets of 114.
constexpr EncoderDecoderSize t5_size(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                                     std::int64_t head_size, std::int64_t feed_forward) {
  return {.layers = layers,
          .hidden = hidden,
          .heads = heads,
          .head_size = head_size,
          .feed_forward = feed_forward,
          .sequence = 512,
          .target_sequence = 114,
          .vocabulary = 32128};
}

// The published configuration files (cased, 32000 word pieces).
constexpr TransformerSize xlnet_size(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  return {.layers = layers, .hidden = hidden, .heads = heads, .sequence = 512, .vocabulary = 32000};
}

// The networks of vPipe's released code, which gives all sizes but the length of the Transformer's sequences: 128
// tokens, that of the batch by which fairseq, and so vPipe, finds the shapes of tensors.
constexpr TransformerSize vpipe_bert(std::int64_t layers) {
  return {.layers = layers, .hidden = 1024, .heads = 16, .sequence = 128, .vocabulary = 30528};
}

constexpr TransformerSize cpm(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  return {.layers = layers, .hidden = hidden, .heads = heads, .sequence = 696, .vocabulary = 30000, .positions = 1024};
}

constexpr EncoderDecoderSize vpipe_transformer(std::int64_t layers) {
  return {.layers = layers, .hidden = 1024, .heads = 16, .sequence = 128, .vocabulary = 33712};
}

// Table 1 of arXiv:2010.11929.
constexpr VitSize kVitBase{.layers = 12, .hidden = 768, .heads = 12};
constexpr VitSize kVitLarge{.layers = 24, .hidden = 1024, .heads = 16};
constexpr VitSize kVitHuge{.layers = 32, .hidden = 1280, .heads = 16, .patch = 14};

std::optional<VitSize> find_vit(std::string_view name) {
  if (name == "vit-b-16") return kVitBase;
  if (name == "vit-l-16") return kVitLarge;
  if (name == "vit-h-14") return kVitHuge;
  return std::nullopt;
}

/// In that code the head has a word table of its own. It stays out of the network's parameters, as in publications.
Architecture sized_by_vpipe(Architecture net) {
  for (Operator& op : net.operators) {
    if (op.name == "head.decoder") op.tied.owner = OperatorId::none();
  }
  net.source += "; sizes: the released code of vPipe (Zhao et al., TPDS 2022)";
  return net;
}

Architecture make_vpipe_bert(const std::string& name, std::int64_t layers) {
  return sized_by_vpipe(bert(name, vpipe_bert(layers), BertHead::MaskedLanguage));
}

Architecture make_cpm(const std::string& name, const TransformerSize& size) {
  Architecture net = sized_by_vpipe(gpt(name, size));
  net.source = "Zhang et al., CPM, 2020, arXiv:2012.00413, a GPT-2; " + net.source;
  return net;
}

Architecture make_vpipe_transformer(const std::string& name, std::int64_t layers) {
  return sized_by_vpipe(encoder_decoder(name, vpipe_transformer(layers), NormPlace::Before));
}

// Table 2.1 of arXiv:2005.14165, with the word pieces of GPT-2. The 13B model has a hidden size of 5120 in place of its
// 5140, which 40 heads of 128 do not divide: so it has the 12,850 million parameters of table D.1.
Architecture make_gpt3(const std::string& name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  Architecture net = gpt(
      name,
      {.layers = layers, .hidden = hidden, .heads = heads, .sequence = 2048, .vocabulary = 50257, .positions = 2048});
  net.source = "Brown et al., Language Models are Few-Shot Learners, NeurIPS 2020, arXiv:2005.14165";
  return net;
}

/// NVIDIA's GNMT v2 shares one word table between its sides; PipeDream's trains two.
Architecture make_pipedream_gnmt(const std::string& name, std::int64_t layers) {
  Architecture net = gnmt(name, {.layers = layers, .shared_embedding = false});
  net.source += "; a word table on either side: the released code of PipeDream (Narayanan et al., SOSP 2019)";
  return net;
}

struct KnownArchitecture {
  const char* name;
  Architecture (*make)(const std::string& name);
};

constexpr auto kArchitectures = std::to_array<KnownArchitecture>({
    {"bert-base", [](const std::string& name) { return bert(name, kBertBase, BertHead::Pooler); }},
    {"bert-large", [](const std::string& name) { return bert(name, kBertLarge, BertHead::Pooler); }},
    {"bert-base-pretraining", [](const std::string& name) { return bert(name, kBertBase, BertHead::Pretraining); }},
    {"bert-large-pretraining", [](const std::string& name) { return bert(name, kBertLarge, BertHead::Pretraining); }},
    {"bert-24", [](const std::string& name) { return make_vpipe_bert(name, 24); }},
    {"bert-48", [](const std::string& name) { return make_vpipe_bert(name, 48); }},
    {"gpt2-small", [](const std::string& name) { return gpt(name, gpt2(12, 768, 12)); }},
    {"gpt2-medium", [](const std::string& name) { return gpt(name, gpt2(24, 1024, 16)); }},
    {"gpt2-large", [](const std::string& name) { return gpt(name, gpt2(36, 1280, 20)); }},
    {"gpt2-xl", [](const std::string& name) { return gpt(name, gpt2(48, 1600, 25)); }},
    {"gpt3-13b", [](const std::string& name) { return make_gpt3(name, 40, 5120, 40); }},
    {"gpt3-175b", [](const std::string& name) { return make_gpt3(name, 96, 12288, 96); }},
    {"cpm-medium", [](const std::string& name) { return make_cpm(name, cpm(24, 1024, 16)); }},
    {"cpm-large", [](const std::string& name) { return make_cpm(name, cpm(32, 2560, 32)); }},
    {"gnmt-8", [](const std::string& name) { return make_pipedream_gnmt(name, 4); }},
    {"gnmt-16", [](const std::string& name) { return make_pipedream_gnmt(name, 8); }},
    {"transformer-base", [](const std::string& name) { return encoder_decoder(name, kTransformerBase); }},
    {"transformer-big", [](const std::string& name) { return encoder_decoder(name, kTransformerBig); }},
    {"transformer-6-6", [](const std::string& name) { return make_vpipe_transformer(name, 6); }},
    {"transformer-12-12", [](const std::string& name) { return make_vpipe_transformer(name, 12); }},
    {"xlnet-base", [](const std::string& name) { return xlnet(name, xlnet_size(12, 768, 12)); }},
    {"xlnet-large", [](const std::string& name) { return xlnet(name, xlnet_size(24, 1024, 16)); }},
    {"t5-small", [](const std::string& name) { return t5(name, t5_size(6, 512, 8, 64, 2048)); }},
    {"t5-base", [](const std::string& name) { return t5(name, t5_size(12, 768, 12, 64, 3072)); }},
    {"t5-large", [](const std::string& name) { return t5(name, t5_size(24, 1024, 16, 64, 4096)); }},
    {"t5-3b", [](const std::string& name) { return t5(name, t5_size(24, 1024, 32, 128, 16384)); }},
    {"t5-11b", [](const std::string& name) { return t5(name, t5_size(24, 1024, 128, 128, 65536)); }},
    {"vit-b-16", [](const std::string& name) { return vit(name, kVitBase); }},
    {"vit-l-16", [](const std::string& name) { return vit(name, kVitLarge); }},
    {"vit-h-14", [](const std::string& name) { return vit(name, kVitHuge); }},
});

const ImageNetwork* find_image_network(std::string_view name) {
  for (const ImageNetwork& known : image_networks()) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

}  // namespace

std::vector<WorkloadInfo> known_architectures() {
  std::vector<WorkloadInfo> list;
  for (const ImageNetwork& known : image_networks()) {
    const Architecture net = known.make(known.name, known.usual_image);
    list.push_back({net.name, net.summary, net.source});
  }
  for (const KnownArchitecture& known : kArchitectures) {
    const Architecture net = known.make(known.name);
    list.push_back({net.name, net.summary, net.source});
  }
  for (const DecoderNetwork& known : decoder_networks()) {
    const Architecture net = make_architecture(known);
    list.push_back({net.name, net.summary, net.source});
  }
  return list;
}

std::optional<Architecture> find_architecture(std::string_view name) {
  if (const ImageNetwork* known = find_image_network(name)) return known->make(known->name, known->usual_image);
  const auto known =
      std::ranges::find(kArchitectures, name, [](const KnownArchitecture& k) { return std::string_view(k.name); });
  if (known != kArchitectures.end()) return known->make(known->name);
  const auto decoder = std::ranges::find(decoder_networks(), name, &DecoderNetwork::name);
  if (decoder == decoder_networks().end()) return std::nullopt;
  return make_architecture(*decoder);
}

std::optional<Architecture> find_architecture(std::string_view name, std::int64_t image) {
  if (const ImageNetwork* known = find_image_network(name)) return known->make(known->name, image);
  std::optional<VitSize> size = find_vit(name);
  if (!size) return std::nullopt;
  size->image = image;
  return vit(std::string(name), *size);
}

}  // namespace stagecraft
