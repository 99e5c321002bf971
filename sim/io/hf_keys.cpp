#include "sim/io/hf_keys.hpp"

#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>
#include <array>

namespace stagecraft {
namespace {

/// Keys that change neither the operators nor their sizes, beside those that `is_always_idle` knows by a part.
constexpr auto kIdle = std::to_array<std::string_view>({
    "adapters",
    "architectures",
    "attention_softmax_in_fp32",
    "auto_map",
    "aux_loss_alpha",
    "bias_dropout_fusion",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "dtype",
    "ep_size",
    "finetuning_task",
    "gradient_checkpointing",
    "id2label",
    "init_std",
    "initializer_range",
    "is_decoder",
    "is_encoder_decoder",
    "label2id",
    "layerdrop",
    "masked_softmax_fusion",
    "max_sequence_length",
    "max_window_layers",
    "model_type",
    "n_group",
    "norm_topk_prob",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "partial_rotary_factor",
    "prefix",
    "pretraining_tp",
    "reorder_and_upcast_attn",
    "return_dict",
    "rotary_emb_base",
    "rotary_pct",
    "routed_scaling_factor",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "scale_attn_by_inverse_layer_idx",
    "scale_attn_weights",
    "scoring_func",
    "seq_aux",
    "skip_bias_add",
    "skip_bias_add_qkv",
    "slow_but_exact",
    "task_specific_params",
    "topk_group",
    "topk_method",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "unk_token_id",
    "use_cache",
});

/// Of these beginnings, ends and parts all keys are idle.
bool is_always_idle(std::string_view key) {
  const auto has = [&](std::string_view part) { return key.find(part) != std::string_view::npos; };
  return key.starts_with("_") || key.starts_with("rope_") || key.starts_with("summary_") ||
         key.ends_with("_token_id") || key.ends_with("_norm_eps") || key.ends_with("_norm_epsilon") || has("dropout") ||
         has("pdrop") || std::ranges::find(kIdle, key) != kIdle.end();
}

}  // namespace

std::optional<YamlNode> HfKeys::find(Names names) {
  std::optional<YamlNode> first;
  for (const std::string_view name : names) {
    const auto node = root_.find(name);
    if (!node) continue;
    taken_.emplace(name);
    if (node->kind() == YamlKind::Nothing) continue;
    if (first && first->text() != node->text()) {
      node->fail_expected("the value of " + quote(first->key()) + ", " + first->text());
    }
    if (!first) first = node;
  }
  return first;
}

YamlNode HfKeys::at(Names names) {
  if (auto found = find(names)) return *std::move(found);
  std::string others;
  for (const std::string_view name : names) {
    if (name != *names.begin()) others += (others.empty() ? "" : ", ") + quote(name);
  }
  root_.fail("the key " + quote(*names.begin()) + " is missing", others.empty() ? "" : "or " + others);
}

std::int64_t HfKeys::require(const std::string& size, Names names, std::int64_t most) {
  const YamlNode node = at(names);
  sizes_.insert_or_assign(size, node);
  return read_count(node, 1, most);
}

bool HfKeys::take(const std::string& size, Names names, std::int64_t most, std::int64_t& into, std::int64_t least) {
  const auto node = find(names);
  if (!node) return false;
  sizes_.insert_or_assign(size, *node);
  into = read_count(*node, least, most);
  return true;
}

void HfKeys::require_or_null(const std::string& size, std::string_view name, std::int64_t most, std::int64_t& into) {
  into = 0;
  if (!has(name)) static_cast<void>(at({name}));
  take(size, {name}, most, into, 0);
}

bool HfKeys::flag(std::string_view name, bool otherwise) {
  const auto node = find({name});
  return node ? read_bool(*node) : otherwise;
}

void HfKeys::require_flag(std::string_view name, bool value, const std::string& what) {
  const auto node = find({name});
  if (node && read_bool(*node) != value) node->fail(what + " is not modelled");
}

void HfKeys::ignore(Names names) {
  for (const std::string_view name : names) taken_.emplace(name);
}

void HfKeys::refuse(const DecoderDefect& defect) const {
  std::string expected = defect.expected;
  for (const auto& [size, node] : sizes_) {
    const std::string named = quote(size);
    const std::size_t at = expected.find(named);
    if (at != std::string::npos) expected.replace(at, named.size(), quote(node.key()));
  }
  const auto found = sizes_.find(defect.key);
  if (found != sizes_.end()) found->second.fail_expected(expected);
  root_.fail("the size " + quote(defect.key) + " does not fit: expected " + expected);
}

std::vector<std::string> HfKeys::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : root_.entries()) {
    if (!taken_.contains(name) && !is_always_idle(name)) names.push_back(name);
  }
  return names;
}

}  // namespace stagecraft
