#include "tests/experiments/commands/counted_memory.hpp"

#include <algorithm>

namespace stagecraft::counted {
namespace {

Count divided_up(Count all, Count parts) { return (all + parts - 1) / parts; }

}  // namespace

Counted::Counted(const Shapes& of, const Division& by)
    : of_(of),
      by_(by),
      tokens_(by.samples * of.sequence / by.context),
      own_tokens_(by.by_tokens ? tokens_ / by.tensor : tokens_),
      sent_rows_(of.active * own_tokens_),
      received_rows_(divided_up(sent_rows_ * by.imbalance_tenths, 10)),
      norm_(of.is_gpt ? 2 * of.hidden : of.hidden),
      statistics_(of.is_gpt ? 8 : 4),
      rows_of_words_(divided_up(of.words, by.padded_to * by.tensor) * by.padded_to) {}

Count Counted::query_width() const {
  return of_.heads / by_.tensor * (of_.latent > 0 ? of_.nope + of_.rope : of_.head_size);
}

Count Counted::narrow_width() const { return std::max(Count{1}, of_.narrow_heads / by_.tensor) * of_.head_size; }

Count Counted::attention_parameters() const {
  const Count heads = of_.heads / by_.tensor;
  if (of_.latent > 0) {
    const Count from = of_.query_latent > 0 ? of_.query_latent : of_.hidden;
    const Count down = of_.query_latent * (of_.hidden + 1);  // and its norm
    return down + from * query_width() + of_.hidden * (of_.latent + of_.rope) + of_.latent +
           of_.latent * heads * (of_.nope + of_.value) + heads * of_.value * of_.hidden;
  }
  const Count made = query_width() + 2 * narrow_width();
  const Count biases = (of_.is_gpt || of_.query_bias ? made : 0) + (of_.is_gpt ? of_.hidden : 0);
  return of_.hidden * made + query_width() * of_.hidden + biases;
}

Count Counted::embedding_parameters() const { return (rows_of_words_ + (of_.is_gpt ? of_.sequence : 0)) * of_.hidden; }

Count Counted::head_parameters() const { return rows_of_words_ * of_.hidden + norm_; }

Held Counted::parameters(const Part& part) const {
  Held held;
  for (Count block = part.first_block; block < part.first_block + part.blocks; ++block) {
    held.plain += attention_parameters() + 2 * norm_;
    if (has_experts(block)) {
      held.plain += of_.hidden * of_.experts + 3 * of_.hidden * of_.shared_inner / by_.tensor;
      held.experts += of_.experts / by_.expert * 3 * of_.hidden * of_.expert_inner;
    } else {
      const Count inner = of_.inner / by_.tensor;
      held.plain += of_.is_gpt ? 2 * of_.hidden * inner + inner + of_.hidden : 3 * of_.hidden * inner;
    }
  }
  if (part.has_embedding) held.plain += embedding_parameters();
  if (part.has_head) held.plain += head_parameters();
  return held;
}

Count Counted::states(const Part& part) const {
  const Held held = parameters(part);
  const auto kept = [&](Count all, Count copies) {
    const auto divided_from = [&](Count zero) { return by_.zero >= zero ? divided_up(all, copies) : all; };
    return 2 * divided_from(3) + 4 * divided_from(2) + 12 * divided_from(1);
  };
  const Count devices = by_.replicas * by_.devices();
  return kept(held.plain, devices / by_.tensor) + kept(held.experts, devices / by_.expert);
}

Count Counted::kept_by_attention() const {
  const Count heads = of_.heads / by_.tensor;
  if (of_.latent > 0) {
    // What each latent vector is cut from, the vector normalised, queries, keys, values and the output.
    const Count norms = of_.query_latent > 0 ? 2 : 1;
    return 2 * tokens_ * (2 * of_.latent + of_.rope + 2 * of_.query_latent) + 4 * tokens_ * norms +
           2 * tokens_ * heads * (2 * (of_.nope + of_.rope) + 2 * of_.value) + 4 * tokens_ * heads;
  }
  const Count vectors = 2 * tokens_ * (2 * query_width() + 2 * narrow_width());
  if (!of_.is_gpt) return vectors + 4 * tokens_ * heads;
  return vectors + 5 * tokens_ * of_.sequence * heads;  // softmax, its dropout and what that leaves
}

Count Counted::kept_by_block(Count block) const {
  const Count norms = 4 * stream() + 2 * statistics_ * own_tokens_;
  const Count masks = of_.is_gpt ? stream() : 0;  // two, of a byte
  const Count attention = norms + masks + kept_by_attention();
  if (!has_experts(block)) return attention + 2 * tokens_ * (of_.is_gpt ? 2 : 3) * of_.inner / by_.tensor;
  return attention + 2 * received_rows_ * (2 * of_.hidden + 3 * of_.expert_inner) + 4 * tokens_ * of_.experts +
         2 * tokens_ * 3 * of_.shared_inner / by_.tensor;
}

Count Counted::kept_by_head() const { return 2 * stream() + statistics_ * own_tokens_ + 4 * tokens_ * rows_of_words_; }

Count Counted::kept_by_embedding() const { return 8 * tokens_ + (of_.is_gpt ? stream() / 2 : 0); }

Count Counted::exchanged_vectors() const { return 2 * received_rows_ * of_.hidden; }

/// The widest product reads tokens that are gathered, so that they and their gradient are whole.
Count Counted::attention_workspace() const {
  const bool gathers = by_.tensor > 1 && by_.by_tokens;
  const Count heads = of_.heads / by_.tensor;
  const Count read = (gathers ? 2 : 1) * of_.hidden;
  Count widest = read + (of_.is_gpt ? 3 : 1) * query_width();
  if (of_.is_gpt) widest = std::max(widest, 2 * heads * of_.sequence);  // the gradients of softmax and scores
  if (of_.latent > 0) {
    const Count made = heads * (2 * (of_.nope + of_.rope) + of_.value);
    const Count from = query_width() + heads * (of_.nope + of_.value) + of_.latent + of_.rope;
    widest = std::max(widest, made + from);
  }
  if (by_.context > 1) {
    // Keys and values of others and their gradients, those that are used and in a ring the next ones.
    const Count own = of_.latent > 0 ? heads * (of_.nope + of_.rope + of_.value) : 2 * narrow_width();
    const Count output = of_.latent > 0 ? heads * of_.value : query_width();
    widest = std::max(widest, query_width() + output + 2 * own * (by_.gathers_keys ? by_.context : 2));
  }
  return 2 * tokens_ * widest;
}

Count Counted::block_workspace(Count block) const {
  const Count read = (by_.tensor > 1 && by_.by_tokens ? 2 : 1) * of_.hidden;
  const auto of_mlp = [&](Count inner) {
    const Count activation = (of_.is_gpt ? 2 : 3) * inner;
    return 2 * tokens_ * std::max({activation, read + inner, inner + of_.hidden});
  };
  if (!has_experts(block)) return std::max(attention_workspace(), of_mlp(of_.inner / by_.tensor));
  // Vectors that are sent and the gradient of those that come back, that of tokens, and that of the experts' weights.
  const Count dispatch = 2 * (sent_rows_ + received_rows_ + own_tokens_) * of_.hidden + 2 * tokens_ * of_.active;
  const Count experts = 2 * received_rows_ * std::max(3 * of_.expert_inner, of_.hidden + of_.expert_inner);
  return std::max({attention_workspace(), dispatch, experts, of_mlp(of_.shared_inner / by_.tensor)});
}

/// Logits and their gradient in 16 bit, or the product that makes them.
Count Counted::head_workspace() const {
  const Count read = (by_.tensor > 1 && by_.by_tokens ? 2 : 1) * of_.hidden;
  return 2 * tokens_ * std::max(2 * rows_of_words_, rows_of_words_ + read);
}

/// Two for each boundary, of what a rank sends.
Count Counted::boundary_buffers(const Part& part) const {
  const Count sent = by_.by_tokens ? stream() : stream() / by_.tensor;
  return 2 * sent * ((part.has_embedding ? 0 : 1) + (part.has_head ? 0 : 1));
}

/// Two buckets of gradients in fp32, each a layer: the attention or the MLP of a block, the embedding or the head. If
/// weights are divided, two of those as well.
Count Counted::exchange_buffers(const Part& part) const {
  if (by_.zero < 2) return 0;
  Count largest = std::max(attention_parameters(), 3 * of_.hidden * of_.inner / by_.tensor) + norm_;
  if (part.has_embedding) largest = std::max(largest, embedding_parameters());
  if (part.has_head) largest = std::max(largest, head_parameters());
  return 2 * (by_.zero > 2 ? 4 + 2 : 4) * largest;
}

Count Counted::peak(const Part& part) const {
  Count kept = 0;
  Count most_made_again = 0;
  Count workspace = part.has_head ? head_workspace() : 0;
  for (Count block = part.first_block; block < part.first_block + part.blocks; ++block) {
    kept += part.recomputes_blocks ? stream() : kept_by_block(block);
    workspace = std::max(workspace, block_workspace(block));
    if (!part.recomputes_blocks) continue;
    most_made_again = std::max(most_made_again, kept_by_block(block) - stream() + block_workspace(block));
  }
  if (part.has_embedding) kept += kept_by_embedding();
  const Count of_head = part.has_head ? kept_by_head() : 0;
  // Blocks are made again when the head has given up what it kept of this microbatch.
  const Count beside = std::max(workspace, most_made_again - of_head);
  return states(part) + boundary_buffers(part) + exchange_buffers(part) + part.in_flight * (kept + of_head) + beside;
}

}  // namespace stagecraft::counted
