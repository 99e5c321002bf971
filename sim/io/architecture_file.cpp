#include "sim/io/architecture_file.hpp"

#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/workload/transformer.hpp"
#include "sim/workload/vgg.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

using ReadFamily = Architecture (*)(const YamlNode& root, const std::string& name);

std::int64_t count_or(const YamlNode& root, std::string_view key, std::int64_t otherwise) {
  const auto node = root.find(key);
  return node ? read_count(*node, 1) : otherwise;
}

Architecture read_vgg(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "blocks", "image", "hidden", "classes"});
  VggSize size;
  for (const YamlNode& block : root.at("blocks").items()) {
    std::vector<std::int64_t> channels;
    for (const YamlNode& item : block.items()) channels.push_back(read_count(item, 1));
    size.blocks.push_back(std::move(channels));
  }
  size.image = count_or(root, "image", size.image);
  size.hidden = count_or(root, "hidden", size.hidden);
  size.classes = count_or(root, "classes", size.classes);
  return vgg(name, size);
}

/// What BERT and GPT have in common; `usual` tells what may be left out.
TransformerSize read_transformer(const YamlNode& root, const TransformerSize& usual) {
  TransformerSize size;
  size.layers = read_count(root.at("layers"), 1);
  size.hidden = read_count(root.at("hidden"), 1);
  size.heads = read_count(root.at("heads"), 1);
  size.sequence = read_count(root.at("sequence"), 1);
  size.vocabulary = count_or(root, "vocabulary", usual.vocabulary);
  size.positions = count_or(root, "positions", std::max(usual.positions, size.sequence));
  size.feed_forward = count_or(root, "feed_forward", 0);
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
  const auto read_family =
      read_choice<ReadFamily>(root.at("family"), {{"vgg", read_vgg}, {"bert", read_bert}, {"gpt", read_gpt}});
  try {
    Architecture net = read_family(root, name);
    if (const auto source = root.find("source")) net.source = read_text(*source);
    return net;
  } catch (const InputError& error) {
    if (error.place().line > 0) throw;
    throw InputError(error.message(), root.place(), error.hint());  // sizes that do not fit together
  }
}

Architecture read_architecture_file(const std::string& path) { return parse_architecture(read_text_file(path), path); }

}  // namespace stagecraft
