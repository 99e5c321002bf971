#include "sim/io/hf_config.hpp"

#include "sim/base/error.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::hf_config_test {
namespace {

/// Part of the published config.json of a network that the catalogue has too.
struct Published {
  std::string name;         ///< in the catalogue
  std::int64_t sequence;    ///< that the catalogue has
  std::int64_t parameters;  ///< that Hugging Face shows for the checkpoint
  std::string keys;
};

/// The keys that decide, from config.json of huggyllama, meta-llama, mistralai, Qwen, deepseek-ai, EleutherAI, tiiuae,
/// facebook, bigscience and openai-community on Hugging Face.
const std::vector<Published>& published() {
  static const std::vector<Published> kPublished = {
      {"llama3-8b", 8192, 8'030'261'248,
       R"("model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 8192,
          "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256)"},
      {"llama3-70b", 8192, 70'553'706'496,
       R"("model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "max_position_embeddings": 8192,
          "num_attention_heads": 64, "num_hidden_layers": 80, "num_key_value_heads": 8, "vocab_size": 128256)"},
      {"llama3.2-1b", 8192, 1'235'814'400,
       R"("model_type": "llama", "head_dim": 64, "hidden_size": 2048, "intermediate_size": 8192, "mlp_bias": false,
          "max_position_embeddings": 131072, "num_attention_heads": 32, "num_hidden_layers": 16,
          "num_key_value_heads": 8, "tie_word_embeddings": true, "vocab_size": 128256)"},
      {"mistral-7b", 8192, 7'241'732'096,
       R"("model_type": "mistral", "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
          "max_position_embeddings": 32768, "num_attention_heads": 32, "num_hidden_layers": 32,
          "num_key_value_heads": 8, "sliding_window": 4096, "vocab_size": 32000)"},
      {"mixtral-8x7b", 4096, 46'702'792'704,
       R"("model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 32768,
          "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
          "num_local_experts": 8, "sliding_window": null, "vocab_size": 32000)"},
      {"qwen2-7b", 4096, 7'615'616'512,
       R"("model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "max_position_embeddings": 131072,
          "max_window_layers": 28, "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
          "sliding_window": 131072, "use_sliding_window": false, "vocab_size": 152064)"},
      {"qwen3-8b", 4096, 8'190'735'360,
       R"("model_type": "qwen3", "attention_bias": false, "head_dim": 128, "hidden_size": 4096, "vocab_size": 151936,
          "intermediate_size": 12288, "max_position_embeddings": 40960, "num_attention_heads": 32,
          "num_hidden_layers": 36, "num_key_value_heads": 8, "use_sliding_window": false)"},
      {"qwen3-30b-a3b", 4096, 30'532'122'624,
       R"("model_type": "qwen3_moe", "decoder_sparse_step": 1, "head_dim": 128, "hidden_size": 2048,
          "intermediate_size": 6144, "max_position_embeddings": 40960, "mlp_only_layers": [], "num_experts": 128,
          "moe_intermediate_size": 768, "num_attention_heads": 32, "num_experts_per_tok": 8, "num_hidden_layers": 48,
          "num_key_value_heads": 4, "vocab_size": 151936)"},
      {"deepseek-v2-lite", 4096, 15'706'484'224,
       R"("model_type": "deepseek_v2", "first_k_dense_replace": 1, "hidden_size": 2048, "intermediate_size": 10944,
          "kv_lora_rank": 512, "max_position_embeddings": 163840, "moe_intermediate_size": 1408, "moe_layer_freq": 1,
          "n_routed_experts": 64, "n_shared_experts": 2, "num_attention_heads": 16, "num_experts_per_tok": 6,
          "num_hidden_layers": 27, "num_key_value_heads": 16, "q_lora_rank": null, "qk_nope_head_dim": 128,
          "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 102400)"},
      {"gpt-neox-20b", 2048, 20'554'567'680,
       R"("model_type": "gpt_neox", "hidden_act": "gelu_fast", "hidden_size": 6144, "intermediate_size": 24576,
          "max_position_embeddings": 2048, "num_attention_heads": 64, "num_hidden_layers": 44, "rotary_pct": 0.25,
          "use_parallel_residual": true, "vocab_size": 50432, "tie_word_embeddings": false)"},
      {"falcon-7b", 2048, 6'921'720'704,
       R"("model_type": "falcon", "alibi": false, "bias": false, "hidden_size": 4544, "multi_query": true,
          "new_decoder_architecture": false, "num_attention_heads": 71, "num_hidden_layers": 32, "num_kv_heads": 71,
          "parallel_attn": true, "vocab_size": 65024)"},
      {"falcon-40b", 2048, 41'303'293'952,
       R"("model_type": "falcon", "alibi": false, "bias": false, "hidden_size": 8192, "multi_query": true,
          "new_decoder_architecture": true, "num_attention_heads": 128, "num_hidden_layers": 60, "num_kv_heads": 8,
          "parallel_attn": true, "vocab_size": 65024)"},
      {"opt-125m", 2048, 125'239'296,
       R"("model_type": "opt", "activation_function": "relu", "do_layer_norm_before": true, "dropout": 0.1,
          "ffn_dim": 3072, "hidden_size": 768, "max_position_embeddings": 2048, "num_attention_heads": 12,
          "num_hidden_layers": 12, "vocab_size": 50272, "word_embed_proj_dim": 768)"},
      {"bloom-560m", 2048, 559'214'592,
       R"("model_type": "bloom", "hidden_dropout": 0.0, "n_embed": 1024, "n_inner": null, "n_layer": 24,
          "num_attention_heads": 16, "offset_alibi": 100, "seq_length": 2048, "vocab_size": 250880)"},
      {"gpt2-small", 1024, 124'439'808,
       R"("model_type": "gpt2", "activation_function": "gelu_new", "n_ctx": 1024, "n_embd": 768, "n_head": 12,
          "n_layer": 12, "n_positions": 1024, "vocab_size": 50257)"},
  };
  return kPublished;
}

std::string example(const std::string& name) {
  return (std::filesystem::path(STAGECRAFT_SOURCE_DIR) / "tests/vectors/good" / name).string();
}

HfConfig parsed(const std::string& keys, std::optional<std::int64_t> sequence = {}) {
  return parse_hf_config("{" + keys + "}", "folder/small.json", sequence);
}

const std::string kSmall =
    R"("hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
       "num_key_value_heads": 2, "vocab_size": 100)";

/// Of `kSmall`, with what a family adds.
std::int64_t small_count(const std::string& keys) { return parameter_count(parsed(kSmall + ", " + keys).network); }

/// The tokens of a sample, by the width of the embedding's output.
std::int64_t tokens(const HfConfig& config) { return config.network.operators[OperatorId(0)].output_values / 64; }

std::int64_t keys_read(const Architecture& net) {
  for (const Operator& op : net.operators) {
    if (op.kind == OperatorKind::Attention) return op.macs;
  }
  return 0;
}

}  // namespace

TEST_CASE("config.json: published files give the networks of the catalogue, operator by operator") {
  for (const Published& each : published()) {
    CAPTURE(each.name);
    const Architecture net = parsed(each.keys, each.sequence).network;
    CHECK(parameter_count(net) == each.parameters);
    CHECK(net.operators == find_architecture(each.name).value().operators);
  }
}

// OPT-350M has narrow words and norms after the additions. Qwen1.5-MoE-A2.7B is not in the catalogue: its experts are
// beside a shared one with a gate; 14,315,784,192 is what Hugging Face shows.
TEST_CASE("config.json: the example files") {
  const HfConfig llama = read_hf_config(example("config_llama2_7b.json"));
  CHECK(llama.network.name == "Llama-2-7b-hf");
  CHECK(llama.network.operators == find_architecture("llama2-7b").value().operators);
  CHECK(llama.notes.empty());
  CHECK(read_hf_config(example("config_opt_350m.json")).network.operators ==
        find_architecture("opt-350m").value().operators);
  const HfConfig deepseek = read_hf_config(example("config_deepseek_v3.json"), 4096);
  CHECK(deepseek.network.operators == find_architecture("deepseek-v3").value().operators);
  REQUIRE(deepseek.notes.size() == 2);
  CHECK(deepseek.notes[0].starts_with("'num_nextn_predict_layers' is left out"));
  CHECK(deepseek.notes[1].starts_with("'quantization_config' is left out"));
  const HfConfig qwen = read_hf_config(example("config_qwen2_moe.json"));
  CHECK(qwen.network.name == "config_qwen2_moe");
  CHECK(parameter_count(qwen.network) == 14'315'784'192);
}

// By hand: words 2·1024·256; attention 256·(8·48) + 256·80 + 64 + 64·8·64 + 8·32·256 = 217,152; dense 3·256·512;
// experts 16·3·256·64 + 3·256·128 + 256·16; two norms of 256 a block and the last one.
TEST_CASE("config.json: the dialect of simulators") {
  const HfConfig config = read_hf_config(example("config_of_a_simulator.json"));
  CHECK(config.network.name == "experts");
  CHECK(parameter_count(config.network) ==
        524'288 + 4 * (217'152 + 512) + 393'216 + 3 * (786'432 + 98'304 + 4096) + 256);
}

TEST_CASE("config.json: the length of a sample is the file's, at most 8192, or the user's") {
  const std::string base = kSmall + R"(, "model_type": "llama")";
  const HfConfig whole = parsed(base + R"(, "max_position_embeddings": 8192)");
  CHECK(tokens(whole) == 8192);
  CHECK(whole.notes.empty());
  const HfConfig capped = parsed(base + R"(, "max_position_embeddings": 8193)");
  CHECK(tokens(capped) == 8192);
  REQUIRE(capped.notes.size() == 1);
  CHECK(capped.notes[0].starts_with("a sample has 8192 tokens, where the file allows 8193"));
  const HfConfig assumed = parsed(base);
  CHECK(tokens(assumed) == 2048);
  CHECK(assumed.notes.size() == 1);
  const HfConfig chosen = parsed(base + R"(, "max_position_embeddings": 64)", 100);  // rotary positions end nowhere
  CHECK(tokens(chosen) == 100);
  CHECK(chosen.notes.empty());
  REQUIRE(chosen.warnings.size() == 1);
  CHECK(chosen.warnings[0].starts_with("a sample has 100 tokens, more than the 64 that the file allows"));
  CHECK(parsed(base + R"(, "max_position_embeddings": 64)", 64).warnings.empty());
}

TEST_CASE("config.json: a key that is not read is named, once for all, and idle ones are not") {
  const HfConfig config = parsed(kSmall + R"(, "model_type": "llama", "max_position_embeddings": 32,
      "sliding_window": 16, "rope_theta": 1e4, "eos_token_id": [1, 2], "attention_dropout": 0.1, "colour": "red")");
  REQUIRE(config.notes.size() == 1);
  CHECK(config.notes[0] == "keys that are not read: 'sliding_window', 'colour'");
}

TEST_CASE("config.json: a quantisation is named, because training has none") {
  const std::string base =
      kSmall + R"(, "model_type": "llama", "max_position_embeddings": 32, "quantization_config": )";
  const HfConfig config = parsed(base + R"({"quant_method": "fp8"})");
  REQUIRE(config.notes.size() == 1);
  CHECK(config.notes[0].starts_with("'quantization_config' is left out"));
  CHECK(parsed(base + "null").notes.empty());
}

TEST_CASE("config.json: gpt2 keeps the masks of the dropouts whose rate is not 0") {
  const std::string base = R"("model_type": "gpt2", "n_embd": 64, "n_layer": 3, "n_head": 4, "n_positions": 32,
      "vocab_size": 100)";
  const auto masks = [&](const std::string& rates) {
    const Architecture net = parsed(base + rates).network;
    return std::ranges::count_if(net.operators,
                                 [](const Operator& op) { return op.name.find("dropout") != std::string::npos; });
  };
  CHECK(masks("") == 1 + 3 * 3);  // after the embeddings, of the weights, after both halves
  CHECK(masks(R"(, "embd_pdrop": 0.0)") == 3 * 3);
  CHECK(masks(R"(, "attn_pdrop": 0)") == 1 + 3 * 2);
  CHECK(masks(R"(, "resid_pdrop": 0)") == 1 + 3);
  CHECK(masks(R"(, "embd_pdrop": 0, "attn_pdrop": 0.0, "resid_pdrop": 0)") == 0);
}

TEST_CASE("config.json: flags and windows change the network as they change the model") {
  const std::int64_t plain = small_count(R"("model_type": "llama")");
  CHECK(small_count(R"("model_type": "llama", "tie_word_embeddings": true)") == plain - 6400);
  CHECK(small_count(R"("model_type": "llama", "attention_bias": true)") == plain + 2 * (64 + 32 + 32 + 64));
  CHECK(small_count(R"("model_type": "llama", "mlp_bias": true)") == plain + 2 * (96 + 96 + 64));
  CHECK(small_count(R"("model_type": "qwen2")") == plain + 2 * (64 + 32 + 32));
  CHECK(small_count(R"("model_type": "qwen3", "head_dim": 16)") == plain + 2 * 2 * 16);
  const auto window = [](const std::string& keys) {
    return keys_read(parsed(kSmall + R"(, "model_type": "mistral")" + keys, 8192).network);
  };
  CHECK(window("") == window(R"(, "sliding_window": 4096)"));
  CHECK(window(R"(, "sliding_window": null)") == window(R"(, "sliding_window": 8192)"));
  CHECK(window("") < window(R"(, "sliding_window": null)"));
}

// google/vit-base-patch16-224 and -large- as published, but for the names of the classes. Hugging Face shows 86,567,656
// and 304,326,632 parameters.
TEST_CASE("config.json: published Vision Transformers give the networks of the catalogue, operator by operator") {
  std::string labels;
  for (int at = 0; at < 1000; ++at) {
    labels += (at == 0 ? "\"" : ", \"") + std::to_string(at) + R"(": "name)" + std::to_string(at) + "\"";
  }
  const std::string common = R"("model_type": "vit", "architectures": ["ViTForImageClassification"],
      "attention_probs_dropout_prob": 0.0, "hidden_act": "gelu", "hidden_dropout_prob": 0.0, "image_size": 224,
      "initializer_range": 0.02, "layer_norm_eps": 1e-12, "num_channels": 3, "patch_size": 16, "qkv_bias": true,
      "id2label": {)" + labels +
                             "}";
  const HfConfig base = parsed(common + R"(, "hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12,
      "num_hidden_layers": 12)");
  CHECK(parameter_count(base.network) == 86'567'656);
  CHECK(base.network.operators == find_architecture("vit-b-16").value().operators);
  CHECK(base.network.source == "config.json of model_type vit");
  CHECK(base.notes.empty());
  const HfConfig large = parsed(common + R"(, "hidden_size": 1024, "intermediate_size": 4096,
      "num_attention_heads": 16, "num_hidden_layers": 24)");
  CHECK(parameter_count(large.network) == 304'326'632);
  CHECK(large.network.operators == find_architecture("vit-l-16").value().operators);
  const Degrees two{.tensor = 2, .sequence = false};  // 197 tokens
  CHECK(member_of(large.network, two).operators == member_of(find_architecture("vit-l-16").value(), two).operators);
}

TEST_CASE("config.json: the keys of a Vision Transformer") {
  const std::string base = R"("model_type": "vit", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
      "num_attention_heads": 4, "image_size": 32, "patch_size": 8)";
  const auto count = [&](const std::string& keys) { return parameter_count(parsed(base + keys).network); };
  const HfConfig bare = parsed(base);
  REQUIRE(bare.notes.size() == 1);
  CHECK(bare.notes[0].starts_with("the head has 2 classes, because the file has neither"));
  const std::int64_t two = parameter_count(bare.network);
  CHECK(count(R"(, "num_labels": 2)") == two);
  CHECK(count(R"(, "num_labels": 10)") == two + 8 * 65);
  CHECK(count(R"(, "id2label": {"0": "a", "1": "b", "2": "b"}, "num_labels": 3)") == two + 65);
  CHECK(count(R"(, "qkv_bias": false)") == two - std::int64_t{2} * 3 * 64);
  CHECK(count(R"(, "num_channels": 1)") == two - std::int64_t{2} * 8 * 8 * 64);
  const HfConfig noted = parsed(base + R"(, "num_labels": 2, "hidden_dropout_prob": 0.1, "pooler_act": "tanh",
      "encoder_stride": 16, "use_mask_token": true)");
  REQUIRE(noted.notes.size() == 2);
  CHECK(noted.notes[0].starts_with("'hidden_dropout_prob' is left out"));
  CHECK(noted.notes[1] == "keys that are not read: 'use_mask_token'");
}

TEST_CASE("config.json: a Vision Transformer has no tokens that a length could count") {
  const std::string text = R"("model_type": "vit", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
      "num_attention_heads": 4, "image_size": 32, "patch_size": 8)";
  CHECK_THROWS_WITH_AS(static_cast<void>(parsed(text, 128)),
                       "folder/small.json:1:16: model_type: a Vision Transformer takes images, and --sequence gives a "
                       "length",
                       InputError);
}

TEST_CASE("config.json: a network is named by its path on the hub, by the file, or by the folder of a config.json") {
  const auto name = [](const std::string& keys, const std::string& path) {
    return parse_hf_config("{" + kSmall + R"(, "model_type": "llama")" + keys + "}", path).network.name;
  };
  CHECK(name(R"(, "_name_or_path": "org/model-7b/")", "a/config.json") == "model-7b");
  CHECK(name(R"(, "_name_or_path": "")", "a/llama-3.1.json") == "llama-3.1");
  CHECK(name("", "a/of-our-own/config.json") == "of-our-own");
}

TEST_CASE("config.json: files of other formats are not taken for one") {
  CHECK(is_hf_config(parse_yaml(R"({"model_type": "llama"})", "f")));
  CHECK(is_hf_config(parse_yaml(R"({"layer_num": 2})", "f")));
  CHECK_FALSE(is_hf_config(parse_yaml("schema: stagecraft/model/1\nmodel_type: llama\n", "f")));
  CHECK_FALSE(is_hf_config(parse_yaml("[model_type]", "f")));
}

}  // namespace stagecraft::hf_config_test
