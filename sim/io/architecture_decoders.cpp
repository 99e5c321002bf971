#include "sim/io/architecture_decoders.hpp"

#include "sim/io/yaml_values.hpp"
#include "sim/workload/decoder_families.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

constexpr DecoderSize kMostOfDecoder = largest_decoder();

void read_decoder_size(const YamlNode& root, std::string_view key, std::int64_t most, std::int64_t& size) {
  if (const auto node = root.find(key)) size = read_count(*node, 1, most);
}

void require_key(const YamlNode& root, std::string_view key) { static_cast<void>(root.at(key)); }

/// `feed_forward` is given exactly if some block has an MLP.
void read_mlp_key(const YamlNode& root, bool has_mlp) {
  const auto node = root.find("feed_forward");
  if (has_mlp) require_key(root, "feed_forward");
  if (!has_mlp && node) node->fail("every block has experts in place of an MLP");
}

void read_flag(const YamlNode& root, std::string_view key, bool& flag) {
  if (const auto node = root.find(key)) flag = read_bool(*node);
}

/// The family's form with the sizes that all families have; `feed_forward` where it is given.
DecoderSize read_decoder(const YamlNode& root, std::string_view family) {
  DecoderSize size = decoder_family(family).usual;
  size.layers = read_count(root.at("layers"), 1, kMostOfDecoder.layers);
  size.hidden = read_count(root.at("hidden"), 1, kMostOfDecoder.hidden);
  size.heads = read_count(root.at("heads"), 1, kMostOfDecoder.heads);
  size.sequence = read_count(root.at("sequence"), 1, kMostOfDecoder.sequence);
  read_decoder_size(root, "vocabulary", kMostOfDecoder.vocabulary, size.vocabulary);
  read_decoder_size(root, "feed_forward", kMostOfDecoder.feed_forward, size.feed_forward);
  return size;
}

void read_grouped_heads(const YamlNode& root, DecoderSize& size) {
  read_decoder_size(root, "key_value_heads", kMostOfDecoder.key_value_heads, size.key_value_heads);
  read_decoder_size(root, "head_size", kMostOfDecoder.head_size, size.head_size);
}

/// The number of experts, of the visited ones, and the inner size; all or none.
void read_experts(const YamlNode& root, ExpertSize& experts) {
  constexpr ExpertSize kMost = kMostOfDecoder.experts;
  const bool is_given = root.find("experts") || root.find("active_experts") || root.find("expert_feed_forward");
  if (!is_given) return;
  experts.count = read_count(root.at("experts"), 1, kMost.count);
  experts.active = read_count(root.at("active_experts"), 1, kMost.active);
  experts.feed_forward = read_count(root.at("expert_feed_forward"), 1, kMost.feed_forward);
}

void refuse_defect(const YamlNode& root, const DecoderDefect& defect) {
  auto node = root.find(defect.key);
  if (!node && defect.key == "expert_feed_forward") node = root.find("feed_forward");
  if (node) node->fail_expected(defect.expected);
  root.fail("the default of " + quote(defect.key) + " does not fit: expected " + defect.expected, "give it");
}

Architecture made_decoder(const YamlNode& root, const std::string& name, std::string_view family,
                          const DecoderSize& size) {
  if (const auto defect = defect_of(size)) refuse_defect(root, *defect);
  Architecture net = decoder(name, size);
  net.source = decoder_family(family).source;
  return net;
}

}  // namespace

Architecture read_bloom(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "sequence", "vocabulary",
                   "feed_forward"});
  return made_decoder(root, name, "bloom", read_decoder(root, "bloom"));
}

Architecture read_deepseek(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema",
                   "architecture",
                   "family",
                   "source",
                   "layers",
                   "hidden",
                   "heads",
                   "sequence",
                   "vocabulary",
                   "feed_forward",
                   "experts",
                   "active_experts",
                   "expert_feed_forward",
                   "shared_feed_forward",
                   "dense_layers",
                   "router_bias",
                   "query_rank",
                   "key_value_rank",
                   "nope_size",
                   "rope_size",
                   "value_size"});
  DecoderSize size = read_decoder(root, "deepseek");
  constexpr LatentSize kMost = kMostOfDecoder.latent;
  read_decoder_size(root, "query_rank", kMost.query_rank, size.latent.query_rank);
  read_decoder_size(root, "key_value_rank", kMost.key_value_rank, size.latent.key_value_rank);
  read_decoder_size(root, "nope_size", kMost.nope, size.latent.nope);
  read_decoder_size(root, "rope_size", kMost.rope, size.latent.rope);
  read_decoder_size(root, "value_size", kMost.value, size.latent.value);
  ExpertSize& experts = size.experts;
  require_key(root, "experts");
  read_experts(root, experts);
  read_decoder_size(root, "shared_feed_forward", kMostOfDecoder.experts.shared_feed_forward,
                    experts.shared_feed_forward);
  read_decoder_size(root, "dense_layers", kMostOfDecoder.experts.dense_layers, experts.dense_layers);
  read_flag(root, "router_bias", experts.router_bias);
  read_mlp_key(root, experts.dense_layers > 0);
  return made_decoder(root, name, "deepseek", size);
}

Architecture read_falcon(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "sequence", "vocabulary",
                   "feed_forward", "key_value_heads", "head_size", "norms"});
  DecoderSize size = read_decoder(root, "falcon");
  read_grouped_heads(root, size);
  std::int64_t norms = size.key_value_heads > 1 ? 2 : 1;
  read_decoder_size(root, "norms", 2, norms);
  size.form.halves = norms == 2 ? DecoderHalves::Parallel : DecoderHalves::ParallelOneNorm;
  return made_decoder(root, name, "falcon", size);
}

Architecture read_llama(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "sequence", "vocabulary",
                   "feed_forward", "key_value_heads", "head_size", "tied"});
  require_key(root, "feed_forward");
  DecoderSize size = read_decoder(root, "llama");
  read_grouped_heads(root, size);
  read_flag(root, "tied", size.form.tied);
  return made_decoder(root, name, "llama", size);
}

Architecture read_mistral(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "sequence", "vocabulary",
                   "feed_forward", "key_value_heads", "head_size", "window"});
  require_key(root, "feed_forward");
  DecoderSize size = read_decoder(root, "mistral");
  read_grouped_heads(root, size);
  read_decoder_size(root, "window", kMostOfDecoder.window, size.window);
  return made_decoder(root, name, "mistral", size);
}

Architecture read_mixtral(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "sequence", "vocabulary",
                   "feed_forward", "key_value_heads", "head_size", "experts", "active_experts"});
  require_key(root, "feed_forward");
  DecoderSize size = read_decoder(root, "mixtral");
  read_grouped_heads(root, size);
  read_decoder_size(root, "experts", kMostOfDecoder.experts.count, size.experts.count);
  read_decoder_size(root, "active_experts", kMostOfDecoder.experts.active, size.experts.active);
  size.experts.feed_forward = size.feed_forward;
  return made_decoder(root, name, "mixtral", size);
}

Architecture read_neox(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "sequence", "vocabulary",
                   "feed_forward"});
  return made_decoder(root, name, "neox", read_decoder(root, "neox"));
}

Architecture read_opt(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "sequence", "vocabulary",
                   "feed_forward", "positions", "embedding_size", "normalize"});
  DecoderSize size = read_decoder(root, "opt");
  size.positions = std::min(std::max(size.positions, size.sequence + 2), kMostOfDecoder.positions);
  read_decoder_size(root, "positions", kMostOfDecoder.positions, size.positions);
  read_decoder_size(root, "embedding_size", kMostOfDecoder.embedding_size, size.embedding_size);
  if (const auto node = root.find("normalize")) {
    size.form.normalize_after = read_choice<bool>(*node, {{"before", false}, {"after", true}});
  }
  return made_decoder(root, name, "opt", size);
}

Architecture read_qwen2(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "sequence", "vocabulary",
                   "feed_forward", "key_value_heads", "tied"});
  require_key(root, "feed_forward");
  DecoderSize size = read_decoder(root, "qwen2");
  read_grouped_heads(root, size);
  read_flag(root, "tied", size.form.tied);
  return made_decoder(root, name, "qwen2", size);
}

Architecture read_qwen3(const YamlNode& root, const std::string& name) {
  root.allow_keys({"schema", "architecture", "family", "source", "layers", "hidden", "heads", "sequence", "vocabulary",
                   "feed_forward", "key_value_heads", "head_size", "tied", "experts", "active_experts",
                   "expert_feed_forward"});
  DecoderSize size = read_decoder(root, "qwen3");
  read_grouped_heads(root, size);
  read_flag(root, "tied", size.form.tied);
  read_experts(root, size.experts);
  read_mlp_key(root, size.experts.count == 0);
  return made_decoder(root, name, "qwen3", size);
}

}  // namespace stagecraft
