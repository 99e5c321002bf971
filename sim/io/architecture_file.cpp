#include "sim/io/architecture_file.hpp"

#include "sim/io/architecture_images.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/workload/transformer.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

using ReadFamily = Architecture (*)(const YamlNode& root, const std::string& name);

std::int64_t count_or(const YamlNode& root, std::string_view key, std::int64_t otherwise, std::int64_t most) {
  const auto node = root.find(key);
  return node ? read_count(*node, 1, most) : otherwise;
}

/// What BERT and GPT have in common; `usual` tells what may be left out.
TransformerSize read_transformer(const YamlNode& root, const TransformerSize& usual) {
  constexpr TransformerSize kMost = largest_transformer();
  TransformerSize size;
  size.layers = read_count(root.at("layers"), 1, kMost.layers);
  const YamlNode hidden = root.at("hidden");
  size.hidden = read_count(hidden, 1, kMost.hidden);
  size.heads = read_count(root.at("heads"), 1, kMost.heads);
  if (size.hidden % size.heads != 0) hidden.fail_expected("a multiple of 'heads', " + std::to_string(size.heads));
  size.sequence = read_count(root.at("sequence"), 1, kMost.sequence);
  size.vocabulary = count_or(root, "vocabulary", usual.vocabulary, kMost.vocabulary);
  size.positions = std::max(usual.positions, size.sequence);
  if (const auto positions = root.find("positions")) {
    size.positions = read_count(*positions, 1, kMost.positions);
    if (size.positions < size.sequence) {
      positions->fail_expected("at least 'sequence', " + std::to_string(size.sequence));
    }
  }
  size.feed_forward = count_or(root, "feed_forward", 0, kMost.feed_forward);
  return size;
}

Architecture read_bert(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "sequence", "vocabulary",
                   "positions", "feed_forward", "head"});
  const TransformerSize size = read_transformer(root, {.vocabulary = 30522, .positions = 512});
  BertHead head = BertHead::Pooler;
  if (const auto node = root.find("head")) {
    head = read_choice<BertHead>(*node, {{"pooler", BertHead::Pooler}, {"pretraining", BertHead::Pretraining}});
  }
  return bert(name, size, head);
}

Architecture read_gpt(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "sequence", "vocabulary",
                   "positions", "feed_forward"});
  return gpt(name, read_transformer(root, {.vocabulary = 50257, .positions = 1024}));
}

}  // namespace

Architecture parse_architecture(std::string_view text, const std::string& file_name) {
  const YamlNode root = parse_yaml(text, file_name);
  check_schema(root, "stagecraft/architecture/1");
  const std::string name = read_name(root.at("architecture"));
  const auto read_family = read_choice<ReadFamily>(root.at("family"), {{"alexnet", read_alexnet},
                                                                       {"vgg", read_vgg},
                                                                       {"resnet", read_resnet},
                                                                       {"inception-v3", read_inception},
                                                                       {"densenet", read_densenet},
                                                                       {"bert", read_bert},
                                                                       {"gpt", read_gpt}});
  Architecture net = read_family(root, name);
  if (const auto source = root.find("source")) net.source = read_text(*source);
  return net;
}

Architecture read_architecture_file(const std::string& path) { return parse_architecture(read_text_file(path), path); }

}  // namespace stagecraft
