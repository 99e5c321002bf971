#include "sim/workload/catalogue.hpp"

#include "sim/workload/image_catalogue.hpp"
#include "sim/workload/transformer.hpp"

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

struct KnownArchitecture {
  const char* name;
  Architecture (*make)(const std::string& name);
};

constexpr auto kArchitectures = std::to_array<KnownArchitecture>({
    {"bert-base", [](const std::string& name) { return bert(name, kBertBase, BertHead::Pooler); }},
    {"bert-large", [](const std::string& name) { return bert(name, kBertLarge, BertHead::Pooler); }},
    {"bert-base-pretraining", [](const std::string& name) { return bert(name, kBertBase, BertHead::Pretraining); }},
    {"bert-large-pretraining", [](const std::string& name) { return bert(name, kBertLarge, BertHead::Pretraining); }},
    {"gpt2-small", [](const std::string& name) { return gpt(name, gpt2(12, 768, 12)); }},
    {"gpt2-medium", [](const std::string& name) { return gpt(name, gpt2(24, 1024, 16)); }},
    {"gpt2-large", [](const std::string& name) { return gpt(name, gpt2(36, 1280, 20)); }},
    {"gpt2-xl", [](const std::string& name) { return gpt(name, gpt2(48, 1600, 25)); }},
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
  return list;
}

std::optional<Architecture> find_architecture(std::string_view name) {
  if (const ImageNetwork* known = find_image_network(name)) return known->make(known->name, known->usual_image);
  const auto known =
      std::ranges::find(kArchitectures, name, [](const KnownArchitecture& k) { return std::string_view(k.name); });
  if (known == kArchitectures.end()) return std::nullopt;
  return known->make(known->name);
}

std::optional<Architecture> find_architecture(std::string_view name, std::int64_t image) {
  const ImageNetwork* known = find_image_network(name);
  if (known == nullptr) return std::nullopt;
  return known->make(known->name, image);
}

}  // namespace stagecraft
