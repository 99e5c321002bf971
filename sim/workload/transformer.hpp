#pragma once

#include "sim/workload/architecture.hpp"

#include <cstdint>
#include <string>

namespace stagecraft {

/// Where a transformer drops values; each keeps a mask.
struct TransformerDropouts {
  bool embedding = true;  ///< after the embeddings
  bool residual = true;   ///< after the projection of the attention and after the MLP
  bool attention = true;  ///< of the weights of the attention
  friend bool operator==(const TransformerDropouts&, const TransformerDropouts&) = default;
};

/// The numbers that make a transformer of a family.
struct TransformerSize {
  std::int64_t layers = 12;   ///< blocks
  std::int64_t hidden = 768;  ///< a multiple of `heads`
  std::int64_t heads = 12;
  std::int64_t sequence = 512;  ///< tokens in a sample; at most `positions`
  std::int64_t vocabulary = 30522;
  std::int64_t positions = 512;   ///< rows of the position table
  std::int64_t feed_forward = 0;  ///< inner size of the MLP; 0: four times `hidden`
  TransformerDropouts dropouts = {};
  friend bool operator==(const TransformerSize&, const TransformerSize&) = default;
};

/// The most of each size: within these no count of one operator exceeds 2^60.
constexpr TransformerSize largest_transformer() {
  return {.layers = 4096,
          .hidden = 1 << 17,
          .heads = 1 << 17,
          .sequence = 1 << 20,
          .vocabulary = 1 << 22,
          .positions = 1 << 20,
          .feed_forward = 1 << 19};
}

/// **Throws** InputError for sizes below 1, above the largest, or that do not fit together.
void require_countable(const TransformerSize& size);

/// The part of the network after BERT's blocks.
enum class BertHead {
  Pooler,          ///< one dense layer on the first token: the encoder that published counts describe
  Pretraining,     ///< pooler, masked-language head with a tied decoder over all positions, next-sentence head, loss
  MaskedLanguage,  ///< the masked-language head and its loss alone
};

/// Layers `embedding`, `block0.attention`, `block0.mlp`, …, then `pooler` or `head`; blocks `embedding`, `block0`, ….
/// Post-normalisation; attention is computed in full (scores, softmax and dropout are stored), not fused.
/// **Throws** InputError for sizes that do not fit together.
/// **Source** J. Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
/// NAACL 2019, arXiv:1810.04805; the operators are those of Hugging Face's `BertModel`, `BertForPreTraining`,
/// `BertForMaskedLM`.
[[nodiscard]] Architecture bert(const std::string& name, const TransformerSize& size, BertHead head);

/// Layers `embedding`, `block0.attention`, `block0.mlp`, …, `head` (last normalisation, tied projection to the
/// vocabulary, loss). Pre-normalisation; attention is computed in full, the masked half of the scores included.
/// **Throws** InputError for sizes that do not fit together.
/// **Source** A. Radford et al., "Language Models are Unsupervised Multitask Learners", OpenAI 2019; the operators are
/// those of Hugging Face's `GPT2LMHeadModel`, with GELU as one kernel.
[[nodiscard]] Architecture gpt(const std::string& name, const TransformerSize& size);

}  // namespace stagecraft
