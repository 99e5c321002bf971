#pragma once

#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace stagecraft {

/// The function between the products of an MLP.
enum class DecoderActivation {
  Silu,  ///< the backward needs its input
  Gelu,  ///< likewise
  Relu,  ///< the backward needs its output
};

/// How the two halves of a block, attention and MLP, follow each other.
enum class DecoderHalves {
  Sequential,      ///< the MLP reads the stream after the attention was added to it
  Parallel,        ///< both read the block's input, each by a norm of its own; one addition (GPT-NeoX, Falcon-40B)
  ParallelOneNorm  ///< both read one norm of the block's input; one addition (Falcon-7B)
};

/// Experts in place of the MLP. Loads are balanced, unless an expert group's `imbalance` says otherwise: each expert
/// gets an equal share of the tokens.
struct ExpertSize {
  std::int64_t count = 0;                ///< experts of a block; 0: the network has none
  std::int64_t active = 0;               ///< experts that a token visits, at most `count`
  std::int64_t feed_forward = 0;         ///< inner size of one expert
  std::int64_t shared_feed_forward = 0;  ///< inner size of the experts that every token visits, together; 0: none
  std::int64_t dense_layers = 0;         ///< first blocks that have an MLP of `DecoderSize::feed_forward` instead
  bool router_bias = false;              ///< one parameter for each expert, added before the choice
  bool shared_gate = false;              ///< a product weighs what the shared experts made of a token (Qwen2-MoE)
  friend bool operator==(const ExpertSize&, const ExpertSize&) = default;
};

/// Multi-head latent attention: queries, keys and values are made from narrow latent vectors.
struct LatentSize {
  std::int64_t query_rank = 0;      ///< values of the queries' latent vector; 0: queries are made from the stream
  std::int64_t key_value_rank = 0;  ///< values of the latent vector of keys and values; 0: attention is not latent
  std::int64_t nope = 0;            ///< values of a head without position, of queries and keys
  std::int64_t rope = 0;            ///< values of a head with rotary position; all heads share those of the keys
  std::int64_t value = 0;           ///< values of a head of the values
  friend bool operator==(const LatentSize&, const LatentSize&) = default;
};

/// What the networks of a family have in common beside their sizes.
struct DecoderForm {
  DecoderActivation activation = DecoderActivation::Silu;
  bool gated = true;             ///< the MLP has a third product, of the gate
  bool layer_norm = false;       ///< scale and shift; else the root mean square, scale only
  bool rotary = true;            ///< queries and keys are rotated by their position; not with a position table or ALiBi
  bool query_bias = false;       ///< of the products that make queries, keys and values
  bool projection_bias = false;  ///< of the product after the attention
  bool mlp_bias = false;         ///< of the products of the MLP
  bool query_key_norm = false;   ///< a norm of each head of queries and keys (Qwen3)
  bool embedding_norm = false;   ///< a norm after the embedding (BLOOM)
  bool normalize_after = false;  ///< norms stand after the additions, and none before the head (OPT-350M)
  bool tied = false;             ///< the head is the word table
  bool dropout = false;          ///< after both halves of a block; one byte a value is kept
  DecoderHalves halves = DecoderHalves::Sequential;
  friend bool operator==(const DecoderForm&, const DecoderForm&) = default;
};

/// The numbers that make a decoder-only transformer. Counts are of one sample; none has a unit but what it counts.
/// `decoder_families.hpp` has what the networks of a family have in common.
struct DecoderSize {
  std::int64_t layers = 0;           ///< blocks
  std::int64_t hidden = 0;           ///< values of a token
  std::int64_t heads = 0;            ///< of the queries
  std::int64_t key_value_heads = 0;  ///< divides `heads`; 0: `heads`
  std::int64_t head_size = 0;        ///< values of a head; 0: `hidden` / `heads`, then a whole number
  std::int64_t feed_forward = 0;     ///< inner size of the MLP; 0: four times `hidden`
  std::int64_t sequence = 0;         ///< tokens of a sample
  std::int64_t vocabulary = 0;       ///< rows of the word table
  std::int64_t embedding_size = 0;  ///< values of a row of the word table; 0: `hidden`, else two projections (OPT-350M)
  std::int64_t positions = 0;       ///< rows of a learned position table, at least `sequence`; 0: no table
  std::int64_t window = 0;          ///< keys that a token attends to, itself included; 0: all before it
  DecoderForm form = {};
  ExpertSize experts = {};
  LatentSize latent = {};
  friend bool operator==(const DecoderSize&, const DecoderSize&) = default;
};

/// The most of each size: within these no count of one operator exceeds 2^60. `head_size` is bounded by the values of
/// all heads together, 2^17; `latent`'s sizes likewise.
constexpr DecoderSize largest_decoder() {
  return {
      .layers = 4096,
      .hidden = 1 << 17,
      .heads = 1 << 17,
      .key_value_heads = 1 << 17,
      .head_size = 1 << 17,
      .feed_forward = 1 << 19,
      .sequence = 1 << 20,
      .vocabulary = 1 << 22,
      .embedding_size = 1 << 17,
      .positions = 1 << 20,
      .window = 1 << 20,
      .experts = {.count = 1 << 16,
                  .active = 1 << 8,
                  .feed_forward = 1 << 19,
                  .shared_feed_forward = 1 << 19,
                  .dense_layers = 4096},
      .latent = {.query_rank = 1 << 17, .key_value_rank = 1 << 17, .nope = 1 << 17, .rope = 1 << 17, .value = 1 << 17}};
}

/// A size that cannot be, or does not fit the others.
struct DecoderDefect {
  std::string key;       ///< the size's name in an architecture file
  std::string expected;  ///< what it should be
};

/// The first defect of these sizes; none if `decoder` accepts them.
[[nodiscard]] std::optional<DecoderDefect> defect_of(const DecoderSize& size);

/// Layers `embedding`, `block0.attention`, `block0.mlp` or `block0.experts`, …, `head` (last norm, projection to the
/// vocabulary, loss); blocks `embedding`, `block0`, …. Attention is fused: nothing of the size of its scores is kept or
/// moved, and its time leaves out what the causal mask hides. `source` is left to the caller. `member_of` takes groups
/// of all degrees.
/// **Throws** InputError for sizes that have a defect.
/// **Source** docs/reference/formats/architecture.md names the papers of the families; fused attention: T. Dao et al.,
/// "FlashAttention", NeurIPS 2022, arXiv:2205.14135.
[[nodiscard]] Architecture decoder(const std::string& name, const DecoderSize& size);

}  // namespace stagecraft
