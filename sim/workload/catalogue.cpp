#include "sim/workload/catalogue.hpp"

#include "sim/workload/decoder_catalogue.hpp"
#include "sim/workload/encoder_decoder.hpp"
#include "sim/workload/gnmt.hpp"
#include "sim/workload/image_catalogue.hpp"
#include "sim/workload/transformer.hpp"
#include "sim/workload/xlnet.hpp"

#include <algorithm>
#include <array>

namespace stagecraft {
namespace {

// Sizes: BERT, table 1 of arXiv:1810.04805 and its published configuration files (uncased, 30522 word pieces); GPT-2,
// table 2 of the GPT-2 paper and the hparams.json of the published weights (50257 tokens, 1024 positions).
constexpr TransformerSize kBertBase{.layers = 12, .hidden = 768, .heads = 12};
constexpr TransformerSize kBertLarge{.layers = 24, .hidden = 1024, .heads = 16};

/// Tokens in a sample; none: the network's usual number.
using Sequence = std::optional<std::int64_t>;
using Name = const std::string&;

/// A size with another number of tokens that the network, or its encoder, reads.
template <class Size>
Size at(Sequence sequence, Size size) {
  if (sequence) size.sequence = *sequence;
  return size;
}

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

/// In that code the head has a word table of its own. It stays out of the network's parameters, as in publications.
Architecture sized_by_vpipe(Architecture net) {
  for (Operator& op : net.operators) {
    if (op.name == "head.decoder") op.tied.owner = OperatorId::none();
  }
  net.source += "; sizes: the released code of vPipe (Zhao et al., TPDS 2022)";
  return net;
}

Architecture make_vpipe_bert(const std::string& name, std::int64_t layers, Sequence sequence) {
  return sized_by_vpipe(bert(name, at(sequence, vpipe_bert(layers)), BertHead::MaskedLanguage));
}

Architecture make_cpm(const std::string& name, const TransformerSize& size, Sequence sequence) {
  Architecture net = sized_by_vpipe(gpt(name, at(sequence, size)));
  net.source = "Zhang et al., CPM, 2020, arXiv:2012.00413, a GPT-2; " + net.source;
  return net;
}

Architecture make_vpipe_transformer(const std::string& name, std::int64_t layers, Sequence sequence) {
  return sized_by_vpipe(encoder_decoder(name, at(sequence, vpipe_transformer(layers)), NormPlace::Before));
}

// Table 2.1 of arXiv:2005.14165, with the word pieces of GPT-2. The 13B model has a hidden size of 5120 in place of its
// 5140, which 40 heads of 128 do not divide: so it has the 12,850 million parameters of table D.1.
Architecture make_gpt3(const std::string& name, std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                       Sequence sequence) {
  const TransformerSize size{
      .layers = layers, .hidden = hidden, .heads = heads, .sequence = 2048, .vocabulary = 50257, .positions = 2048};
  Architecture net = gpt(name, at(sequence, size));
  net.source = "Brown et al., Language Models are Few-Shot Learners, NeurIPS 2020, arXiv:2005.14165";
  return net;
}

/// NVIDIA's GNMT v2 shares one word table between its sides; PipeDream's trains two.
Architecture make_pipedream_gnmt(const std::string& name, std::int64_t layers, Sequence sequence) {
  Architecture net = gnmt(name, at(sequence, GnmtSize{.layers = layers, .shared_embedding = false}));
  net.source += "; a word table on either side: the released code of PipeDream (Narayanan et al., SOSP 2019)";
  return net;
}

struct KnownArchitecture {
  const char* name;
  Architecture (*make)(const std::string& name, Sequence sequence);
};

constexpr auto kArchitectures = std::to_array<KnownArchitecture>({
    {"bert-base", [](Name name, Sequence s) { return bert(name, at(s, kBertBase), BertHead::Pooler); }},
    {"bert-large", [](Name name, Sequence s) { return bert(name, at(s, kBertLarge), BertHead::Pooler); }},
    {"bert-base-pretraining",
     [](Name name, Sequence s) { return bert(name, at(s, kBertBase), BertHead::Pretraining); }},
    {"bert-large-pretraining",
     [](Name name, Sequence s) { return bert(name, at(s, kBertLarge), BertHead::Pretraining); }},
    {"bert-24", [](Name name, Sequence s) { return make_vpipe_bert(name, 24, s); }},
    {"bert-48", [](Name name, Sequence s) { return make_vpipe_bert(name, 48, s); }},
    {"gpt2-small", [](Name name, Sequence s) { return gpt(name, at(s, gpt2(12, 768, 12))); }},
    {"gpt2-medium", [](Name name, Sequence s) { return gpt(name, at(s, gpt2(24, 1024, 16))); }},
    {"gpt2-large", [](Name name, Sequence s) { return gpt(name, at(s, gpt2(36, 1280, 20))); }},
    {"gpt2-xl", [](Name name, Sequence s) { return gpt(name, at(s, gpt2(48, 1600, 25))); }},
    {"gpt3-13b", [](Name name, Sequence s) { return make_gpt3(name, 40, 5120, 40, s); }},
    {"gpt3-175b", [](Name name, Sequence s) { return make_gpt3(name, 96, 12288, 96, s); }},
    {"cpm-medium", [](Name name, Sequence s) { return make_cpm(name, cpm(24, 1024, 16), s); }},
    {"cpm-large", [](Name name, Sequence s) { return make_cpm(name, cpm(32, 2560, 32), s); }},
    {"gnmt-8", [](Name name, Sequence s) { return make_pipedream_gnmt(name, 4, s); }},
    {"gnmt-16", [](Name name, Sequence s) { return make_pipedream_gnmt(name, 8, s); }},
    {"transformer-base", [](Name name, Sequence s) { return encoder_decoder(name, at(s, kTransformerBase)); }},
    {"transformer-big", [](Name name, Sequence s) { return encoder_decoder(name, at(s, kTransformerBig)); }},
    {"transformer-6-6", [](Name name, Sequence s) { return make_vpipe_transformer(name, 6, s); }},
    {"transformer-12-12", [](Name name, Sequence s) { return make_vpipe_transformer(name, 12, s); }},
    {"xlnet-base", [](Name name, Sequence s) { return xlnet(name, at(s, xlnet_size(12, 768, 12))); }},
    {"xlnet-large", [](Name name, Sequence s) { return xlnet(name, at(s, xlnet_size(24, 1024, 16))); }},
    {"t5-small", [](Name name, Sequence s) { return t5(name, at(s, t5_size(6, 512, 8, 64, 2048))); }},
    {"t5-base", [](Name name, Sequence s) { return t5(name, at(s, t5_size(12, 768, 12, 64, 3072))); }},
    {"t5-large", [](Name name, Sequence s) { return t5(name, at(s, t5_size(24, 1024, 16, 64, 4096))); }},
    {"t5-3b", [](Name name, Sequence s) { return t5(name, at(s, t5_size(24, 1024, 32, 128, 16384))); }},
    {"t5-11b", [](Name name, Sequence s) { return t5(name, at(s, t5_size(24, 1024, 128, 128, 65536))); }},
});

const ImageNetwork* find_image_network(std::string_view name) {
  for (const ImageNetwork& known : image_networks()) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

std::optional<Architecture> make_sequence_network(std::string_view name, Sequence sequence) {
  const auto known =
      std::ranges::find(kArchitectures, name, [](const KnownArchitecture& k) { return std::string_view(k.name); });
  if (known != kArchitectures.end()) return known->make(known->name, sequence);
  const auto decoder = std::ranges::find(decoder_networks(), name, &DecoderNetwork::name);
  if (decoder == decoder_networks().end()) return std::nullopt;
  DecoderNetwork network = *decoder;
  if (sequence) network.size.sequence = *sequence;
  return make_architecture(network);
}

}  // namespace

std::vector<WorkloadInfo> known_architectures() {
  std::vector<WorkloadInfo> list;
  for (const ImageNetwork& known : image_networks()) {
    const Architecture net = known.make(known.name, known.usual_image);
    list.push_back({net.name, net.summary, net.source});
  }
  for (const KnownArchitecture& known : kArchitectures) {
    const Architecture net = known.make(known.name, {});
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
  return make_sequence_network(name, {});
}

std::optional<Architecture> find_sequence_network(std::string_view name, std::int64_t sequence) {
  return make_sequence_network(name, sequence);
}

std::optional<Architecture> find_architecture(std::string_view name, std::int64_t image) {
  if (const ImageNetwork* known = find_image_network(name)) return known->make(known->name, image);
  return std::nullopt;
}

}  // namespace stagecraft
