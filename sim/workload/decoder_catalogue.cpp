#include "sim/workload/decoder_catalogue.hpp"

#include "sim/workload/decoder_families.hpp"

#include <vector>

namespace stagecraft {
namespace {

/// The sizes in which the networks of most families differ. 0: as `DecoderSize`.
struct Shape {
  std::int64_t layers;
  std::int64_t hidden;
  std::int64_t heads;
  std::int64_t key_value_heads;
  std::int64_t feed_forward;
};

DecoderSize shaped(std::string_view family, const Shape& shape, std::int64_t sequence) {
  DecoderSize size = decoder_family(family).usual;
  size.layers = shape.layers;
  size.hidden = shape.hidden;
  size.heads = shape.heads;
  size.key_value_heads = shape.key_value_heads;
  size.feed_forward = shape.feed_forward;
  size.sequence = sequence;
  return size;
}

using Networks = std::vector<DecoderNetwork>;

// Layers, hidden size and heads: table 2 of arXiv:2302.13971, table 1 of arXiv:2307.09288, table 3 of arXiv:2407.21783;
// the inner sizes of the MLP and all of Llama 3.2: the published configuration files. The papers train on sequences of
// 2048, 4096 and 8192 tokens.
void add_llamas(Networks& list) {
  constexpr auto kFirst = "Touvron et al., LLaMA, 2023, arXiv:2302.13971";
  constexpr auto kSecond = "Touvron et al., Llama 2, 2023, arXiv:2307.09288";
  constexpr auto kThird = "Dubey et al., The Llama 3 Herd of Models, 2024, arXiv:2407.21783";
  const auto add = [&](std::string_view name, std::string_view source, const Shape& shape, std::int64_t sequence) {
    list.push_back({name, source, shaped("llama", shape, sequence)});
    if (sequence == 8192) list.back().size.vocabulary = 128'256;
  };
  add("llama-7b", kFirst, {32, 4096, 32, 0, 11008}, 2048);
  add("llama-13b", kFirst, {40, 5120, 40, 0, 13824}, 2048);
  add("llama-30b", kFirst, {60, 6656, 52, 0, 17920}, 2048);
  add("llama-65b", kFirst, {80, 8192, 64, 0, 22016}, 2048);
  add("llama2-7b", kSecond, {32, 4096, 32, 0, 11008}, 4096);
  add("llama2-13b", kSecond, {40, 5120, 40, 0, 13824}, 4096);
  add("llama2-70b", kSecond, {80, 8192, 64, 8, 28672}, 4096);
  add("llama3-8b", kThird, {32, 4096, 32, 8, 14336}, 8192);
  add("llama3-70b", kThird, {80, 8192, 64, 8, 28672}, 8192);
  add("llama3.1-405b", kThird, {126, 16384, 128, 8, 53248}, 8192);
  constexpr auto kSmall = "config.json of meta-llama/Llama-3.2 on Hugging Face, 2024; sequence: as Llama 3";
  add("llama3.2-1b", kSmall, {16, 2048, 32, 8, 8192}, 8192);
  list.back().size.form.tied = true;
  add("llama3.2-3b", kSmall, {28, 3072, 24, 8, 8192}, 8192);
  list.back().size.form.tied = true;
}

// Mistral 7B: table 1 of arXiv:2310.06825 (version 0.1, with a window). Mixtral 8x7B: table 1 of arXiv:2401.04088;
// 8x22B: the published configuration file. Both for 4096 tokens, to which NVIDIA's NeMo trains Mixtral.
void add_mistrals(Networks& list) {
  list.push_back({"mistral-7b", "Jiang et al., Mistral 7B, 2023, arXiv:2310.06825",
                  shaped("mistral", {32, 4096, 32, 8, 14336}, 8192)});
  list.back().size.window = 4096;
  const auto add = [&](std::string_view name, std::string_view source, const Shape& shape) {
    list.push_back({name, source, shaped("mixtral", shape, 4096)});
    list.back().size.experts.feed_forward = shape.feed_forward;
  };
  add("mixtral-8x7b", "Jiang et al., Mixtral of Experts, 2024, arXiv:2401.04088; sequence: NVIDIA NeMo",
      {32, 4096, 32, 8, 14336});
  add("mixtral-8x22b", "config.json of mistralai/Mixtral-8x22B-v0.1 on Hugging Face, 2024; sequence: NVIDIA NeMo",
      {56, 6144, 48, 8, 16384});
}

// Table 1 of arXiv:2407.10671 and tables 1 and 2 of arXiv:2505.09388; hidden and inner sizes and the rows of the word
// table, which are more than its tokens: the published configuration files. Both papers train on 4096 tokens first.
void add_qwens(Networks& list) {
  const auto add = [&](std::string_view name, std::string_view family, const Shape& shape, bool tied) {
    list.push_back({name, decoder_family(family).source, shaped(family, shape, 4096)});
    list.back().size.form.tied = tied;
  };
  add("qwen2-0.5b", "qwen2", {24, 896, 14, 2, 4864}, true);
  add("qwen2-1.5b", "qwen2", {28, 1536, 12, 2, 8960}, true);
  add("qwen2-7b", "qwen2", {28, 3584, 28, 4, 18944}, false);
  list.back().size.vocabulary = 152'064;
  add("qwen2-72b", "qwen2", {80, 8192, 64, 8, 29568}, false);
  list.back().size.vocabulary = 152'064;
  add("qwen3-0.6b", "qwen3", {28, 1024, 16, 8, 3072}, true);
  add("qwen3-1.7b", "qwen3", {28, 2048, 16, 8, 6144}, true);
  add("qwen3-4b", "qwen3", {36, 2560, 32, 8, 9728}, true);
  add("qwen3-8b", "qwen3", {36, 4096, 32, 8, 12288}, false);
  add("qwen3-14b", "qwen3", {40, 5120, 40, 8, 17408}, false);
  add("qwen3-32b", "qwen3", {64, 5120, 64, 8, 25600}, false);
  add("qwen3-30b-a3b", "qwen3", {48, 2048, 32, 4, 0}, false);
  list.back().size.experts = {.count = 128, .active = 8, .feed_forward = 768};
  add("qwen3-235b-a22b", "qwen3", {94, 4096, 64, 4, 0}, false);
  list.back().size.experts = {.count = 128, .active = 8, .feed_forward = 1536};
}

// Sections 3.1.2 and B of arXiv:2405.04434, section 4.2 of arXiv:2412.19437 without its second prediction block; the
// rows of the word table: the published configuration files. Both papers train on 4096 tokens first.
void add_deepseeks(Networks& list) {
  const auto add = [&](std::string_view name, std::string_view source, const Shape& shape, std::int64_t query_rank,
                       const ExpertSize& experts) {
    list.push_back({name, source, shaped("deepseek", shape, 4096)});
    list.back().size.latent.query_rank = query_rank;
    list.back().size.experts = experts;
  };
  const std::string_view second = decoder_family("deepseek").source;
  add("deepseek-v2-lite", second, {27, 2048, 16, 0, 10944}, 0,
      {.count = 64, .active = 6, .feed_forward = 1408, .shared_feed_forward = 2816, .dense_layers = 1});
  add("deepseek-v2", second, {60, 5120, 128, 0, 12288}, 1536,
      {.count = 160, .active = 6, .feed_forward = 1536, .shared_feed_forward = 3072, .dense_layers = 1});
  add("deepseek-v3", "DeepSeek-AI, DeepSeek-V3 Technical Report, 2024, arXiv:2412.19437", {61, 7168, 128, 0, 18432},
      1536,
      {.count = 256,
       .active = 8,
       .feed_forward = 2048,
       .shared_feed_forward = 2048,
       .dense_layers = 3,
       .router_bias = true});
  list.back().size.vocabulary = 129'280;
}

// Table 1 of arXiv:2204.06745 and table 16 of arXiv:2311.16867, for sequences of 2048 tokens; the rows of the word
// table and the hidden size of Falcon-180B: the published configuration files.
void add_parallel_decoders(Networks& list) {
  list.push_back({"gpt-neox-20b", decoder_family("neox").source, shaped("neox", {44, 6144, 64, 0, 0}, 2048)});
  const auto add = [&](std::string_view name, const Shape& shape) {
    list.push_back({name, decoder_family("falcon").source, shaped("falcon", shape, 2048)});
    if (shape.key_value_heads > 1) list.back().size.form.halves = DecoderHalves::Parallel;
  };
  add("falcon-7b", {32, 4544, 71, 1, 0});
  add("falcon-40b", {60, 8192, 128, 8, 0});
  add("falcon-180b", {80, 14848, 232, 8, 0});
}

// Table 1 of arXiv:2205.01068 and table 3 of arXiv:2211.05100, both for sequences of 2048 tokens; the narrow words of
// OPT-350M and the place of its norms: the published configuration file.
void add_opts_and_blooms(Networks& list) {
  const auto add = [&](std::string_view name, std::string_view family, const Shape& shape) {
    list.push_back({name, decoder_family(family).source, shaped(family, shape, 2048)});
  };
  add("opt-125m", "opt", {12, 768, 12, 0, 0});
  add("opt-350m", "opt", {24, 1024, 16, 0, 0});
  list.back().size.embedding_size = 512;
  list.back().size.form.normalize_after = true;
  add("opt-1.3b", "opt", {24, 2048, 32, 0, 0});
  add("opt-2.7b", "opt", {32, 2560, 32, 0, 0});
  add("opt-6.7b", "opt", {32, 4096, 32, 0, 0});
  add("opt-13b", "opt", {40, 5120, 40, 0, 0});
  add("opt-30b", "opt", {48, 7168, 56, 0, 0});
  add("opt-66b", "opt", {64, 9216, 72, 0, 0});
  add("opt-175b", "opt", {96, 12288, 96, 0, 0});
  add("bloom-560m", "bloom", {24, 1024, 16, 0, 0});
  add("bloom-1b1", "bloom", {24, 1536, 16, 0, 0});
  add("bloom-1b7", "bloom", {24, 2048, 16, 0, 0});
  add("bloom-3b", "bloom", {30, 2560, 32, 0, 0});
  add("bloom-7b1", "bloom", {30, 4096, 32, 0, 0});
  add("bloom-176b", "bloom", {70, 14336, 112, 0, 0});
}

Networks all_decoders() {
  Networks list;
  add_llamas(list);
  add_mistrals(list);
  add_qwens(list);
  add_deepseeks(list);
  add_parallel_decoders(list);
  add_opts_and_blooms(list);
  return list;
}

}  // namespace

std::span<const DecoderNetwork> decoder_networks() {
  static const Networks kNetworks = all_decoders();
  return kNetworks;
}

Architecture make_architecture(const DecoderNetwork& network) {
  Architecture net = decoder(std::string(network.name), network.size);
  net.source = network.source;
  return net;
}

}  // namespace stagecraft
