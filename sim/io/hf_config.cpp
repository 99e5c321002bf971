#include "sim/io/hf_config.hpp"

#include "sim/base/text.hpp"
#include "sim/io/hf_families.hpp"
#include "sim/io/hf_keys.hpp"
#include "sim/io/hf_vit.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/workload/decoder.hpp"
#include "sim/workload/decoder_families.hpp"
#include "sim/workload/transformer.hpp"
#include "sim/workload/vit.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kAssumedLength = 2048;  ///< of a file without one, as BLOOM's and Falcon's classes assume

bool is_simulator_dialect(const YamlNode& root) { return root.find("layer_num") || root.find("head_num"); }

/// The part behind the last slash; empty for a text that ends in none.
std::string last_part(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

/// The file's name without its end, or the folder's of a file `config.json`.
std::string name_of_config_file(const std::string& path) {
  const std::filesystem::path file(path);
  if (file.filename() != "config.json") return file.stem().string();
  std::error_code ignored;
  return std::filesystem::absolute(file, ignored).parent_path().filename().string();
}

std::string config_name(const YamlNode& root, const std::string& path) {
  for (const char* key : {"_name_or_path", "model_name"}) {
    const auto node = root.find(key);
    if (!node || node->kind() != YamlKind::Text || node->text().empty()) continue;
    if (const std::string name = last_part(read_name(*node)); !name.empty() && name != ".") return name;
  }
  const std::string stem = name_of_config_file(path);
  return stem.empty() ? "config" : stem;
}

const HfFamily& family_of(HfKeys& keys) {
  std::vector<std::pair<std::string, const HfFamily*>> choices;
  std::vector<std::string> names;
  for (const HfFamily& family : hf_families()) {
    choices.emplace_back(family.model_type, &family);
    names.emplace_back(family.model_type);
  }
  const auto type = keys.find({"model_type"});
  if (!type) keys.root().fail("the key 'model_type' is missing", suggest_name("", names));
  return *read_choice<const HfFamily*>(*type, choices);
}

/// The length of a sample, with a note where it is not the file's.
std::int64_t chosen_length(HfKeys& keys, const DecoderSize& size, std::optional<std::int64_t> wished,
                           HfConfig& config) {
  std::vector<std::string>& notes = config.notes;
  std::int64_t allowed = 0;
  const std::int64_t most = largest_decoder().sequence;
  const bool is_given = keys.take("sequence", {"max_position_embeddings", "n_positions"}, most, allowed) ||
                        keys.take("sequence", {"seq_length"}, most, allowed);
  if (wished) {
    if (size.positions > 0 && *wished > allowed) {
      keys.refuse({"sequence", fmt::format("at least the tokens of --sequence, {}", *wished)});
    }
    if (is_given && *wished > allowed) {
      config.warnings.push_back(fmt::format(
          "a sample has {} tokens, more than the {} that the file allows the model; the figures are those of a model "
          "that was made for so many",
          *wished, allowed));
    }
    return *wished;
  }
  if (!is_given) {
    notes.push_back(fmt::format("a sample has {} tokens, because the file gives no length; --sequence gives another",
                                kAssumedLength));
    return kAssumedLength;
  }
  if (allowed <= kUsualSequence) return allowed;
  notes.push_back(fmt::format("a sample has {} tokens, where the file allows {}; --sequence gives another",
                              kUsualSequence, allowed));
  return kUsualSequence;
}

/// Names the keys that were not read, once.
void note_unread_keys(const std::vector<std::string>& unread, std::vector<std::string>& notes) {
  std::string list;
  for (const std::string& name : unread) list += (list.empty() ? "" : ", ") + quote(name);
  if (!list.empty()) notes.push_back("keys that are not read: " + list);
}

/// Training keeps no quantised parameters.
void note_quantisation(HfKeys& keys, std::vector<std::string>& notes) {
  if (!keys.find({"quantization_config"})) return;
  notes.push_back("'quantization_config' is left out: parameters have the bytes of the precision that is computed in");
}

void note_prediction_blocks(const YamlNode& root, std::vector<std::string>& notes) {
  const auto node = root.find("num_nextn_predict_layers");
  if (!node || node->kind() == YamlKind::Nothing || read_count(*node) == 0) return;
  notes.push_back("'num_nextn_predict_layers' is left out: the blocks that predict later tokens are not modelled");
}

/// By their rates, 0.1 without the key.
TransformerDropouts gpt_dropouts(HfKeys& keys) {
  const auto drops = [&](std::string_view name) {
    const auto node = keys.find({name});
    return !node || read_number(*node) > 0;
  };
  return {.embedding = drops("embd_pdrop"), .residual = drops("resid_pdrop"), .attention = drops("attn_pdrop")};
}

Architecture gpt_of(const std::string& name, const DecoderSize& size, const TransformerDropouts& dropouts) {
  return gpt(name, {.layers = size.layers,
                    .hidden = size.hidden,
                    .heads = size.heads,
                    .sequence = size.sequence,
                    .vocabulary = size.vocabulary,
                    .positions = size.positions,
                    .feed_forward = size.feed_forward,
                    .dropouts = dropouts});
}

Architecture decoder_of(HfKeys& keys, const HfFamily& family, const std::string& name,
                        std::optional<std::int64_t> sequence, HfConfig& config) {
  DecoderSize size = family.family.empty() ? DecoderSize{} : decoder_family(family.family).usual;
  family.fill(keys, size);
  size.sequence = chosen_length(keys, size, sequence, config);
  if (const auto defect = defect_of(size)) keys.refuse(*defect);
  const TransformerDropouts dropouts = family.family.empty() ? gpt_dropouts(keys) : TransformerDropouts{};
  note_prediction_blocks(keys.root(), config.notes);
  return family.family.empty() ? gpt_of(name, size, dropouts) : decoder(name, size);
}

Architecture vit_of(HfKeys& keys, const std::string& name, std::optional<std::int64_t> sequence, HfConfig& config) {
  const VitSize size = read_hf_vit(keys, config.notes);
  if (sequence) keys.at({"model_type"}).fail("a Vision Transformer takes images, and --sequence gives a length");
  return vit(name, size);
}

}  // namespace

bool is_hf_config(const YamlNode& root) {
  return root.kind() == YamlKind::Map && !root.find("schema") &&
         (root.find("model_type") || is_simulator_dialect(root));
}

HfConfig parse_hf_config(std::string_view text, const std::string& path, std::optional<std::int64_t> sequence,
                         const std::string& location) {
  HfKeys keys(parse_yaml(text, path));
  const bool is_dialect = is_simulator_dialect(keys.root());
  const HfFamily family =
      is_dialect ? HfFamily{"that of simulators", "llama", fill_simulator_dialect} : family_of(keys);
  const std::string name = config_name(keys.root(), location.empty() ? path : location);
  HfConfig config;
  config.network =
      family.fill == nullptr ? vit_of(keys, name, sequence, config) : decoder_of(keys, family, name, sequence, config);
  note_quantisation(keys, config.notes);
  config.unread = keys.unread();
  note_unread_keys(config.unread, config.notes);
  config.network.source = is_dialect ? "a configuration file with 'layer_num' and 'head_num'"
                                     : fmt::format("config.json of model_type {}", family.model_type);
  return config;
}

HfConfig read_hf_config(const std::string& path, std::optional<std::int64_t> sequence) {
  return parse_hf_config(read_text_file(path), path, sequence);
}

}  // namespace stagecraft
