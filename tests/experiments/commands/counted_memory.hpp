#pragma once

#include <cstdint>

/// What a device of a 3D plan holds, counted by hand from the shapes of its model: this shares no code with the
/// program. T tokens and R tokens of the stream on a rank, h hidden, d values of a head, K experts of a token.
/// Sizes are in values (two bytes) unless they say bytes. The rules are those of docs/explanation/cost-model.md and
/// docs/reference/report.md.
namespace stagecraft::counted {

using Count = std::int64_t;

/// A whole decoder.
struct Shapes {
  Count blocks = 0;
  Count hidden = 0;
  Count heads = 0;
  Count narrow_heads = 0;  ///< of keys and values
  Count head_size = 0;
  Count inner = 0;  ///< of an MLP that is no expert
  Count words = 0;
  Count sequence = 0;
  bool is_gpt = false;      ///< layer norms, biases, a plain MLP, stored scores, dropout, tied words, positions
  bool query_bias = false;  ///< of queries, keys and values alone
  Count experts = 0;
  Count active = 0;
  Count expert_inner = 0;
  Count shared_inner = 0;
  Count dense_blocks = 0;  ///< the first ones, without experts
  Count latent = 0;        ///< the vector from which keys and values are made, or 0; the sizes of a head follow
  Count query_latent = 0;  ///< that from which queries are made, or 0
  Count nope = 0;
  Count rope = 0;
  Count value = 0;
};

/// How ranks divide it, and what they train.
struct Division {
  Count tensor = 1;
  Count context = 1;
  Count expert = 1;
  bool by_tokens = true;      ///< sequence parallelism, if `tensor` is more than 1
  bool gathers_keys = false;  ///< of all context ranks; else they pass around a ring
  Count padded_to = 1;        ///< rows of words
  Count imbalance_tenths = 10;
  Count replicas = 1;
  Count samples = 1;  ///< of a microbatch of a rank
  Count zero = 0;     ///< with the recipe `mixed`: 2 bytes of weights, 4 of gradients, 12 of the optimizer
  [[nodiscard]] Count devices() const { return tensor * context > expert ? tensor * context : expert; }
};

/// A stage of whole blocks.
struct Part {
  Count first_block = 0;
  Count blocks = 0;
  bool has_embedding = false;
  bool has_head = false;
  Count in_flight = 0;
  bool recomputes_blocks = false;
};

/// In parameters.
struct Held {
  Count plain = 0;
  Count experts = 0;
};

class Counted {
 public:
  Counted(const Shapes& of, const Division& by);

  [[nodiscard]] Held parameters(const Part& part) const;
  /// Weights, gradients and the optimizer, in bytes.
  [[nodiscard]] Count states(const Part& part) const;
  /// What a block keeps of a microbatch, in bytes.
  [[nodiscard]] Count kept_by_block(Count block) const;
  /// The final norm, its output and the logits, in bytes.
  [[nodiscard]] Count kept_by_head() const;
  /// What an expert gets and gives back in one all-to-all, in bytes.
  [[nodiscard]] Count exchanged_vectors() const;
  /// The peak of a device, in bytes.
  [[nodiscard]] Count peak(const Part& part) const;

 private:
  [[nodiscard]] bool has_experts(Count block) const { return of_.experts > 0 && block >= of_.dense_blocks; }
  [[nodiscard]] Count query_width() const;   ///< of all heads of a rank
  [[nodiscard]] Count narrow_width() const;  ///< of keys, or of values
  [[nodiscard]] Count attention_parameters() const;
  [[nodiscard]] Count embedding_parameters() const;
  [[nodiscard]] Count head_parameters() const;
  [[nodiscard]] Count kept_by_embedding() const;  ///< bytes
  [[nodiscard]] Count kept_by_attention() const;  ///< bytes, as all below
  [[nodiscard]] Count attention_workspace() const;
  [[nodiscard]] Count block_workspace(Count block) const;
  [[nodiscard]] Count head_workspace() const;
  [[nodiscard]] Count stream() const { return 2 * own_tokens_ * of_.hidden; }
  [[nodiscard]] Count boundary_buffers(const Part& part) const;
  [[nodiscard]] Count exchange_buffers(const Part& part) const;

  Shapes of_;
  Division by_;
  Count tokens_;
  Count own_tokens_;  ///< of the stream
  Count sent_rows_ = 0;
  Count received_rows_ = 0;
  Count norm_ = 0;        ///< parameters
  Count statistics_ = 0;  ///< bytes of a token and norm
  Count rows_of_words_ = 0;
};

}  // namespace stagecraft::counted
