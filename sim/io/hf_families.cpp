#include "sim/io/hf_families.hpp"

#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"

#include <array>
#include <optional>

namespace stagecraft {
namespace {

constexpr DecoderSize kMostOfConfig = largest_decoder();
constexpr ExpertSize kMostOfExperts = largest_decoder().experts;
constexpr LatentSize kMostOfLatent = largest_decoder().latent;

/// The sizes that all files give.
void read_hf_sizes(HfKeys& keys, DecoderSize& size) {
  size.layers = keys.require("layers", {"num_hidden_layers", "n_layer"}, kMostOfConfig.layers);
  size.hidden = keys.require("hidden", {"hidden_size", "n_embd", "n_embed", "d_model"}, kMostOfConfig.hidden);
  size.heads = keys.require("heads", {"num_attention_heads", "n_head"}, kMostOfConfig.heads);
  size.vocabulary = keys.require("vocabulary", {"vocab_size"}, kMostOfConfig.vocabulary);
}

std::optional<YamlNode> find_hf_activation(HfKeys& keys) {
  return keys.find({"hidden_act", "activation_function", "activation"});
}

void read_hf_activation(HfKeys& keys, DecoderForm& form) {
  const auto node = find_hf_activation(keys);
  if (!node) return;
  form.activation = read_choice<DecoderActivation>(*node, {{"silu", DecoderActivation::Silu},
                                                           {"swish", DecoderActivation::Silu},
                                                           {"gelu", DecoderActivation::Gelu},
                                                           {"gelu_fast", DecoderActivation::Gelu},
                                                           {"gelu_new", DecoderActivation::Gelu},
                                                           {"gelu_pytorch_tanh", DecoderActivation::Gelu},
                                                           {"quick_gelu", DecoderActivation::Gelu},
                                                           {"relu", DecoderActivation::Relu}});
}

/// Whether both halves of a block end in a dropout, by its rate.
void read_hf_dropout(HfKeys& keys, std::string_view name, DecoderForm& form) {
  if (const auto node = keys.find({name})) form.dropout = read_number(*node) > 0;
}

void require_hf_mlp(HfKeys& keys, DecoderSize& size) {
  size.feed_forward = keys.require("feed_forward", {"intermediate_size", "ffn_dim"}, kMostOfConfig.feed_forward);
}

/// Heads of keys and values: as many as queries have where the file says null.
void require_hf_key_value_heads(HfKeys& keys, DecoderSize& size) {
  keys.require_or_null("key_value_heads", "num_key_value_heads", kMostOfConfig.key_value_heads, size.key_value_heads);
}

void read_hf_head_size(HfKeys& keys, DecoderSize& size) {
  keys.take("head_size", {"head_dim"}, kMostOfConfig.head_size, size.head_size);
}

void read_hf_attention_bias(HfKeys& keys, DecoderForm& form, bool otherwise) {
  form.query_bias = form.projection_bias = keys.flag("attention_bias", otherwise);
}

/// Of a family that may have windows in some blocks: none.
void refuse_hf_windows(HfKeys& keys) {
  keys.require_flag("use_sliding_window", false, "a window in some of the blocks");
  keys.ignore({"sliding_window"});
  const auto types = keys.find({"layer_types"});
  if (!types) return;
  for (const YamlNode& type : types->items()) {
    if (type.text() != "full_attention") type.fail_expected("full_attention", "other blocks are not modelled here");
  }
}

/// `mlp_only_layers`: the first blocks, which then have an MLP in place of experts.
void read_hf_dense_layers(HfKeys& keys, DecoderSize& size) {
  if (const auto step = keys.find({"decoder_sparse_step"})) {
    if (read_count(*step, 1) != 1) step->fail_expected("1", "experts in every second block are not modelled");
  }
  const auto dense = keys.find({"mlp_only_layers"});
  if (!dense) return;
  for (const YamlNode& block : dense->items()) {
    if (read_count(block) != size.experts.dense_layers) {
      block.fail_expected("the block " + std::to_string(size.experts.dense_layers),
                          "only the first blocks may have an MLP in place of experts");
    }
    ++size.experts.dense_layers;
  }
}

/// Experts as Qwen's files give them. Files have the inner size of an MLP even where no block has one.
void read_qwen_experts(HfKeys& keys, DecoderSize& size) {
  ExpertSize& experts = size.experts;
  experts.count = keys.require("experts", {"num_experts"}, kMostOfExperts.count);
  experts.active = keys.require("active_experts", {"num_experts_per_tok"}, kMostOfExperts.active);
  experts.feed_forward = keys.require("expert_feed_forward", {"moe_intermediate_size"}, kMostOfExperts.feed_forward);
  read_hf_dense_layers(keys, size);
  if (experts.dense_layers > 0) require_hf_mlp(keys, size);
  keys.ignore({"intermediate_size"});
}

/// What Qwen's files have in common.
void read_qwen(HfKeys& keys, DecoderSize& size) {
  read_hf_sizes(keys, size);
  require_hf_key_value_heads(keys, size);
  read_hf_head_size(keys, size);
  read_hf_activation(keys, size.form);
  refuse_hf_windows(keys);
  size.form.tied = keys.flag("tie_word_embeddings", false);
}

void fill_bloom(HfKeys& keys, DecoderSize& size) {
  read_hf_sizes(keys, size);
  read_hf_dropout(keys, "hidden_dropout", size.form);
  keys.require_flag("apply_residual_connection_post_layernorm", false, "a stream that runs through the norms");
  size.form.tied = keys.flag("tie_word_embeddings", true);
  keys.ignore({"n_inner", "offset_alibi"});
}

void fill_deepseek(HfKeys& keys, DecoderSize& size) {
  read_hf_sizes(keys, size);
  require_hf_mlp(keys, size);
  read_hf_activation(keys, size.form);
  keys.require_or_null("query_rank", "q_lora_rank", kMostOfLatent.query_rank, size.latent.query_rank);
  keys.take("key_value_rank", {"kv_lora_rank"}, kMostOfLatent.key_value_rank, size.latent.key_value_rank);
  keys.take("nope_size", {"qk_nope_head_dim"}, kMostOfLatent.nope, size.latent.nope);
  keys.take("rope_size", {"qk_rope_head_dim"}, kMostOfLatent.rope, size.latent.rope);
  keys.take("value_size", {"v_head_dim"}, kMostOfLatent.value, size.latent.value);
  ExpertSize& experts = size.experts;
  experts.count = keys.require("experts", {"n_routed_experts"}, kMostOfExperts.count);
  experts.active = keys.require("active_experts", {"num_experts_per_tok"}, kMostOfExperts.active);
  experts.feed_forward = keys.require("expert_feed_forward", {"moe_intermediate_size"}, kMostOfExperts.feed_forward);
  std::int64_t shared = 0;
  keys.require_or_null("shared_feed_forward", "n_shared_experts", kMostOfExperts.count, shared);
  experts.shared_feed_forward = shared * experts.feed_forward;
  keys.require_or_null("dense_layers", "first_k_dense_replace", kMostOfExperts.dense_layers, experts.dense_layers);
  if (const auto step = keys.find({"moe_layer_freq"})) {
    if (read_count(*step, 1) != 1) step->fail_expected("1", "experts in every second block are not modelled");
  }
  keys.require_flag("attention_bias", false, "latent attention with biases");
  size.form.tied = keys.flag("tie_word_embeddings", false);
  keys.ignore({"num_key_value_heads", "head_dim", "qk_head_dim", "num_nextn_predict_layers"});
}

void fill_deepseek_v3(HfKeys& keys, DecoderSize& size) {
  fill_deepseek(keys, size);
  size.experts.router_bias = true;
}

/// Falcon-7B, -40B and -180B, and the RefinedWeb models of 1B, which have ALiBi, biases and sequential halves.
void fill_falcon(HfKeys& keys, DecoderSize& size) {
  read_hf_sizes(keys, size);
  keys.take("feed_forward", {"ffn_hidden_size"}, kMostOfConfig.feed_forward, size.feed_forward);
  read_hf_activation(keys, size.form);
  const bool is_new = keys.flag("new_decoder_architecture", false);
  const bool has_one_head = keys.flag("multi_query", true);
  size.key_value_heads = !is_new && has_one_head ? 1 : 0;
  if (is_new) {
    keys.take("key_value_heads", {"num_kv_heads", "n_head_kv"}, kMostOfConfig.key_value_heads, size.key_value_heads);
  }
  std::int64_t norms = is_new ? 2 : 1;
  keys.take("norms", {"num_ln_in_parallel_attn"}, 2, norms);
  size.form.halves = norms == 2 ? DecoderHalves::Parallel : DecoderHalves::ParallelOneNorm;
  if (!is_new && !keys.flag("parallel_attn", true)) size.form.halves = DecoderHalves::Sequential;
  size.form.query_bias = size.form.projection_bias = size.form.mlp_bias = keys.flag("bias", false);
  size.form.rotary = !keys.flag("alibi", false);
  read_hf_dropout(keys, "hidden_dropout", size.form);
  size.form.tied = keys.flag("tie_word_embeddings", true);
  keys.ignore({"num_kv_heads", "n_head_kv", "parallel_attn"});
}

void fill_gpt2(HfKeys& keys, DecoderSize& size) {
  read_hf_sizes(keys, size);
  keys.take("feed_forward", {"n_inner"}, kMostOfConfig.feed_forward, size.feed_forward);
  size.positions = keys.require("positions", {"n_positions", "n_ctx"}, kMostOfConfig.positions);
  require_hf_gelu(keys);
  keys.require_flag("tie_word_embeddings", true, "a GPT-2 with a head of its own");
  keys.require_flag("add_cross_attention", false, "cross-attention");
}

void fill_llama(HfKeys& keys, DecoderSize& size) {
  read_hf_sizes(keys, size);
  require_hf_mlp(keys, size);
  keys.take("key_value_heads", {"num_key_value_heads"}, kMostOfConfig.key_value_heads, size.key_value_heads);
  read_hf_head_size(keys, size);
  read_hf_activation(keys, size.form);
  read_hf_attention_bias(keys, size.form, false);
  size.form.mlp_bias = keys.flag("mlp_bias", false);
  size.form.tied = keys.flag("tie_word_embeddings", false);
}

/// A window of 4096 unless the file has another or null, as version 0.1 has and the class of the model assumes.
void fill_mistral(HfKeys& keys, DecoderSize& size) {
  read_hf_sizes(keys, size);
  require_hf_mlp(keys, size);
  require_hf_key_value_heads(keys, size);
  read_hf_head_size(keys, size);
  read_hf_activation(keys, size.form);
  size.window = keys.has("sliding_window") ? 0 : 4096;
  keys.take("window", {"sliding_window"}, kMostOfConfig.window, size.window);
  size.form.tied = keys.flag("tie_word_embeddings", false);
}

void fill_mixtral(HfKeys& keys, DecoderSize& size) {
  read_hf_sizes(keys, size);
  require_hf_key_value_heads(keys, size);
  read_hf_head_size(keys, size);
  read_hf_activation(keys, size.form);
  keys.take("window", {"sliding_window"}, kMostOfConfig.window, size.window);
  keys.take("experts", {"num_local_experts", "num_experts"}, kMostOfExperts.count, size.experts.count);
  keys.take("active_experts", {"num_experts_per_tok"}, kMostOfExperts.active, size.experts.active);
  size.experts.feed_forward = keys.require("expert_feed_forward", {"intermediate_size"}, kMostOfExperts.feed_forward);
  size.feed_forward = size.experts.feed_forward;
  size.form.tied = keys.flag("tie_word_embeddings", false);
}

void fill_neox(HfKeys& keys, DecoderSize& size) {
  read_hf_sizes(keys, size);
  require_hf_mlp(keys, size);
  read_hf_activation(keys, size.form);
  read_hf_attention_bias(keys, size.form, true);
  if (!keys.flag("use_parallel_residual", true)) size.form.halves = DecoderHalves::Sequential;
  read_hf_dropout(keys, "hidden_dropout", size.form);
  size.form.tied = keys.flag("tie_word_embeddings", false);
}

/// Two rows of the position table stand before the first position.
void fill_opt(HfKeys& keys, DecoderSize& size) {
  read_hf_sizes(keys, size);
  require_hf_mlp(keys, size);
  read_hf_activation(keys, size.form);
  size.positions = 2 + keys.require("positions", {"max_position_embeddings"}, kMostOfConfig.positions - 2);
  keys.take("embedding_size", {"word_embed_proj_dim"}, kMostOfConfig.embedding_size, size.embedding_size);
  size.form.normalize_after = !keys.flag("do_layer_norm_before", true);
  if (!size.form.normalize_after) {
    keys.require_flag("_remove_final_layer_norm", false, "a head without a norm behind blocks that begin with one");
  }
  keys.require_flag("layer_norm_elementwise_affine", true, "a norm without parameters");
  size.form.query_bias = size.form.projection_bias = size.form.mlp_bias = keys.flag("enable_bias", true);
  read_hf_dropout(keys, "dropout", size.form);
  size.form.tied = keys.flag("tie_word_embeddings", true);
}

void fill_qwen2(HfKeys& keys, DecoderSize& size) {
  read_qwen(keys, size);
  require_hf_mlp(keys, size);
}

void fill_qwen2_moe(HfKeys& keys, DecoderSize& size) {
  read_qwen(keys, size);
  size.form.query_bias = keys.flag("qkv_bias", true);
  read_qwen_experts(keys, size);
  size.experts.shared_feed_forward =
      keys.require("shared_feed_forward", {"shared_expert_intermediate_size"}, kMostOfExperts.shared_feed_forward);
  size.experts.shared_gate = true;
}

void fill_qwen3(HfKeys& keys, DecoderSize& size) {
  read_qwen(keys, size);
  require_hf_mlp(keys, size);
  read_hf_attention_bias(keys, size.form, false);
}

void fill_qwen3_moe(HfKeys& keys, DecoderSize& size) {
  size.head_size = 0;
  read_qwen(keys, size);
  read_hf_attention_bias(keys, size.form, false);
  read_qwen_experts(keys, size);
}

constexpr auto kHfFamilies = std::to_array<HfFamily>({
    {"bloom", "bloom", fill_bloom},
    {"deepseek_v2", "deepseek", fill_deepseek},
    {"deepseek_v3", "deepseek", fill_deepseek_v3},
    {"falcon", "falcon", fill_falcon},
    {"gpt2", "", fill_gpt2},
    {"gpt_neox", "neox", fill_neox},
    {"llama", "llama", fill_llama},
    {"mistral", "mistral", fill_mistral},
    {"mixtral", "mixtral", fill_mixtral},
    {"opt", "opt", fill_opt},
    {"qwen2", "qwen2", fill_qwen2},
    {"qwen2_moe", "qwen2", fill_qwen2_moe},
    {"qwen3", "qwen3", fill_qwen3},
    {"qwen3_moe", "qwen3", fill_qwen3_moe},
    {"vit", "vit", nullptr},
});

}  // namespace

std::span<const HfFamily> hf_families() { return kHfFamilies; }

void require_hf_gelu(HfKeys& keys) {
  DecoderForm form{.activation = DecoderActivation::Gelu};
  read_hf_activation(keys, form);
  if (form.activation != DecoderActivation::Gelu) find_hf_activation(keys)->fail_expected("a GELU, such as 'gelu_new'");
}

void fill_simulator_dialect(HfKeys& keys, DecoderSize& size) {
  size.layers = keys.require("layers", {"layer_num"}, kMostOfConfig.layers);
  size.hidden = keys.require("hidden", {"hidden_size"}, kMostOfConfig.hidden);
  size.heads = keys.require("heads", {"head_num"}, kMostOfConfig.heads);
  size.vocabulary = keys.require("vocabulary", {"vocab_size"}, kMostOfConfig.vocabulary);
  size.feed_forward = keys.require("feed_forward", {"intermediate_size"}, kMostOfConfig.feed_forward);
  size.form.gated = read_bool(keys.at({"use_swiglu"}));
  if (!size.form.gated) size.form.activation = DecoderActivation::Gelu;
  const auto type = keys.find({"attention_type"});
  if (type && read_choice<bool>(*type, {{"mla", true}, {"mha", false}, {"gqa", false}, {"mqa", false}})) {
    keys.take("query_rank", {"q_lora_rank"}, kMostOfLatent.query_rank, size.latent.query_rank, 0);
    size.latent.key_value_rank = keys.require("key_value_rank", {"kv_lora_rank"}, kMostOfLatent.key_value_rank);
    size.latent.nope = keys.require("nope_size", {"qk_head_dim"}, kMostOfLatent.nope);
    size.latent.rope = keys.require("rope_size", {"qk_pos_emb_head_dim"}, kMostOfLatent.rope);
    size.latent.value = keys.require("value_size", {"v_head_dim"}, kMostOfLatent.value);
  } else {
    keys.take("key_value_heads", {"kv_head_num"}, kMostOfConfig.key_value_heads, size.key_value_heads);
    keys.take("head_size", {"head_size"}, kMostOfConfig.head_size, size.head_size);
  }
  keys.ignore({"kv_head_num", "head_size", "q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim",
               "v_head_dim", "model_name"});
  ExpertSize& experts = size.experts;
  if (!keys.take("experts", {"expert_num"}, kMostOfExperts.count, experts.count)) return;
  experts.active = keys.require("active_experts", {"topk"}, kMostOfExperts.active);
  experts.feed_forward = size.feed_forward;
  keys.take("expert_feed_forward", {"moe_ffn_hidden_size"}, kMostOfExperts.feed_forward, experts.feed_forward);
  keys.take("shared_feed_forward", {"moe_shared_expert_intermediate_size"}, kMostOfExperts.shared_feed_forward,
            experts.shared_feed_forward, 0);
  keys.take("dense_layers", {"dense_layers"}, kMostOfExperts.dense_layers, experts.dense_layers, 0);
}

}  // namespace stagecraft
