#include "sim/io/architecture_sequences.hpp"

#include "sim/io/yaml_values.hpp"
#include "sim/workload/encoder_decoder.hpp"
#include "sim/workload/gnmt.hpp"
#include "sim/workload/transformer.hpp"
#include "sim/workload/xlnet.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

constexpr TransformerSize kMost = largest_transformer();

std::int64_t count_or(const YamlNode& root, std::string_view key, std::int64_t otherwise, std::int64_t most) {
  const auto node = root.find(key);
  return node ? read_count(*node, 1, most) : otherwise;
}

void require_multiple(const YamlNode& hidden, std::int64_t values, std::int64_t heads) {
  if (values % heads != 0) hidden.fail_expected("a multiple of 'heads', " + std::to_string(heads));
}

/// The keys that BERT, GPT and XLNet have in common, except for positions.
TransformerSize read_blocks(const YamlNode& root, std::int64_t usual_vocabulary) {
  TransformerSize size;
  size.layers = read_count(root.at("layers"), 1, kMost.layers);
  const YamlNode hidden = root.at("hidden");
  size.hidden = read_count(hidden, 1, kMost.hidden);
  size.heads = read_count(root.at("heads"), 1, kMost.heads);
  require_multiple(hidden, size.hidden, size.heads);
  size.sequence = read_count(root.at("sequence"), 1, kMost.sequence);
  size.vocabulary = count_or(root, "vocabulary", usual_vocabulary, kMost.vocabulary);
  size.feed_forward = count_or(root, "feed_forward", 0, kMost.feed_forward);
  return size;
}

void read_positions(const YamlNode& root, std::int64_t usual, TransformerSize& size) {
  size.positions = std::max(usual, size.sequence);
  const auto positions = root.find("positions");
  if (!positions) return;
  size.positions = read_count(*positions, 1, kMost.positions);
  if (size.positions < size.sequence) positions->fail_expected("at least 'sequence', " + std::to_string(size.sequence));
}

EncoderDecoderSize read_pair(const YamlNode& root, std::int64_t usual_vocabulary) {
  EncoderDecoderSize size;
  size.layers = read_count(root.at("layers"), 1, kMost.layers);
  size.decoder_layers = count_or(root, "decoder_layers", 0, kMost.layers);
  const YamlNode hidden = root.at("hidden");
  size.hidden = read_count(hidden, 1, kMost.hidden);
  size.heads = read_count(root.at("heads"), 1, kMost.heads);
  if (const auto head_size = root.find("head_size")) {
    size.head_size = read_count(*head_size, 1, kMost.hidden);
    if (size.head_size > kMost.hidden / size.heads) {
      head_size->fail_expected("at most " + std::to_string(kMost.hidden) + " values in all 'heads'");
    }
  } else {
    require_multiple(hidden, size.hidden, size.heads);
  }
  size.sequence = read_count(root.at("sequence"), 1, kMost.sequence);
  size.target_sequence = count_or(root, "target_sequence", 0, kMost.sequence);
  size.vocabulary = count_or(root, "vocabulary", usual_vocabulary, kMost.vocabulary);
  size.feed_forward = count_or(root, "feed_forward", 0, kMost.feed_forward);
  return size;
}

}  // namespace

Architecture read_bert(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "sequence", "vocabulary",
                   "positions", "feed_forward", "head"});
  TransformerSize size = read_blocks(root, 30522);
  read_positions(root, 512, size);
  BertHead head = BertHead::Pooler;
  if (const auto node = root.find("head")) {
    head = read_choice<BertHead>(*node, {{"pooler", BertHead::Pooler},
                                         {"pretraining", BertHead::Pretraining},
                                         {"masked-language", BertHead::MaskedLanguage}});
  }
  return bert(name, size, head);
}

Architecture read_gnmt(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "sequence", "target_sequence",
                   "vocabulary", "shared_embedding"});
  constexpr GnmtSize kLargest = largest_gnmt();
  GnmtSize size;
  size.layers = read_count(root.at("layers"), 2, kLargest.layers);
  size.hidden = read_count(root.at("hidden"), 1, kLargest.hidden);
  size.sequence = read_count(root.at("sequence"), 1, kLargest.sequence);
  size.target_sequence = count_or(root, "target_sequence", 0, kLargest.target_sequence);
  size.vocabulary = count_or(root, "vocabulary", size.vocabulary, kLargest.vocabulary);
  if (const auto shared = root.find("shared_embedding")) size.shared_embedding = read_bool(*shared);
  return gnmt(name, size);
}

Architecture read_gpt(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "sequence", "vocabulary",
                   "positions", "feed_forward"});
  TransformerSize size = read_blocks(root, 50257);
  read_positions(root, 1024, size);
  return gpt(name, size);
}

Architecture read_t5(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "decoder_layers", "hidden", "heads",
                   "head_size", "sequence", "target_sequence", "vocabulary", "feed_forward"});
  return t5(name, read_pair(root, 32128));
}

Architecture read_transformer(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "decoder_layers", "hidden", "heads",
                   "head_size", "sequence", "target_sequence", "vocabulary", "feed_forward", "normalize"});
  const EncoderDecoderSize size = read_pair(root, 37000);
  NormPlace norm = NormPlace::After;
  if (const auto node = root.find("normalize")) {
    norm = read_choice<NormPlace>(*node, {{"after", NormPlace::After}, {"before", NormPlace::Before}});
  }
  return encoder_decoder(name, size, norm);
}

Architecture read_xlnet(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "sequence", "vocabulary",
                   "feed_forward"});
  return xlnet(name, read_blocks(root, 32000));
}

}  // namespace stagecraft
