#include "sim/workload/decoder_families.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <array>

namespace stagecraft {
namespace {

/// Llama and its followers: root mean squares, rotary positions, a gated SiLU, no biases.
constexpr DecoderSize llama_form(std::int64_t vocabulary) { return {.vocabulary = vocabulary}; }

constexpr DecoderSize qwen2_form() {
  DecoderSize size = llama_form(151'936);
  size.form.query_bias = true;
  return size;
}

constexpr DecoderSize qwen3_form() {
  DecoderSize size = llama_form(151'936);
  size.head_size = 128;
  size.form.query_key_norm = true;
  return size;
}

constexpr DecoderSize mixtral_form() {
  DecoderSize size = llama_form(32'000);
  size.experts = {.count = 8, .active = 2};
  return size;
}

constexpr DecoderSize deepseek_form() {
  DecoderSize size = llama_form(102'400);
  size.latent = {.key_value_rank = 512, .nope = 128, .rope = 64, .value = 128};
  return size;
}

/// The form of GPT: layer norms and a plain MLP with GELU.
constexpr DecoderSize plain_form(std::int64_t vocabulary, bool bias) {
  return {.vocabulary = vocabulary,
          .form = {.activation = DecoderActivation::Gelu,
                   .gated = false,
                   .layer_norm = true,
                   .query_bias = bias,
                   .projection_bias = bias,
                   .mlp_bias = bias}};
}

constexpr DecoderSize neox_form() {
  DecoderSize size = plain_form(50'432, true);
  size.form.halves = DecoderHalves::Parallel;
  return size;
}

constexpr DecoderSize falcon_form() {
  DecoderSize size = plain_form(65'024, false);
  size.form.halves = DecoderHalves::ParallelOneNorm;
  size.key_value_heads = 1;
  size.form.tied = true;
  return size;
}

/// Two rows of the position table stand before the first position.
constexpr DecoderSize opt_form() {
  DecoderSize size = plain_form(50'272, true);
  size.form.activation = DecoderActivation::Relu;
  size.positions = 2050;
  size.form.rotary = false;
  size.form.tied = true;
  size.form.dropout = true;
  return size;
}

/// ALiBi is part of the attention.
constexpr DecoderSize bloom_form() {
  DecoderSize size = plain_form(250'880, true);
  size.form.rotary = false;
  size.form.embedding_norm = true;
  size.form.tied = true;
  return size;
}

constexpr auto kFamilies = std::to_array<DecoderFamily>({
    {"llama", "Touvron et al., LLaMA, 2023, arXiv:2302.13971", llama_form(32'000)},
    {"mistral", "Jiang et al., Mistral 7B, 2023, arXiv:2310.06825", llama_form(32'000)},
    {"qwen2", "Yang et al., Qwen2 Technical Report, 2024, arXiv:2407.10671", qwen2_form()},
    {"qwen3", "Yang et al., Qwen3 Technical Report, 2025, arXiv:2505.09388", qwen3_form()},
    {"mixtral", "Jiang et al., Mixtral of Experts, 2024, arXiv:2401.04088", mixtral_form()},
    {"deepseek", "DeepSeek-AI, DeepSeek-V2, 2024, arXiv:2405.04434", deepseek_form()},
    {"neox", "Black et al., GPT-NeoX-20B, 2022, arXiv:2204.06745", neox_form()},
    {"falcon", "Almazrouei et al., The Falcon Series of Open Language Models, 2023, arXiv:2311.16867", falcon_form()},
    {"opt", "Zhang et al., OPT, 2022, arXiv:2205.01068", opt_form()},
    {"bloom", "BigScience Workshop, BLOOM, 2022, arXiv:2211.05100", bloom_form()},
});

}  // namespace

std::span<const DecoderFamily> decoder_families() { return kFamilies; }

const DecoderFamily& decoder_family(std::string_view name) {
  const auto found = std::ranges::find(kFamilies, name, &DecoderFamily::name);
  STAGECRAFT_CHECK(found != kFamilies.end(), "a family of decoders");
  return *found;
}

}  // namespace stagecraft
