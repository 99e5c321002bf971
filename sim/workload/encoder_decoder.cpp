#include "sim/workload/encoder_decoder.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/draft.hpp"
#include "sim/workload/transformer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kRelativeBuckets = 32;  ///< T5's relative_attention_num_buckets

/// An encoder and a decoder under construction.
struct Pair {
  Draft draft;
  EncoderDecoderSize size;  ///< nothing left at 0

  [[nodiscard]] Rows source() const { return {size.sequence, size.hidden}; }
  [[nodiscard]] Rows target() const { return {size.target_sequence, size.hidden}; }
  [[nodiscard]] std::int64_t width() const { return size.heads * size.head_size; }
  [[nodiscard]] AttentionShape attention(Rows queries, Rows keys) const {
    return {size.heads, queries.count, keys.count, width()};
  }
};

/// One side of an attention: the tensor and its rows.
struct Side {
  OperatorId tensor;
  Rows rows;
};

DraftLabel part_label(const std::string& side, std::int64_t block, const std::string& part) {
  const std::string name = side + ".block" + std::to_string(block);
  return {name + "." + part, side + "." + part, name, side + ".block"};
}

OperatorId add_residual(Pair& pair, OperatorId change, const Side& stream) {
  return add_stream_sum(pair.draft, "residual", {change, stream.tensor}, stream.rows.values());
}

/// The three projections and the scores.
struct Projected {
  OperatorId scores;
  OperatorId values;
};

Projected add_projected_scores(Pair& pair, const Side& queries, const Side& keys) {
  Draft& draft = pair.draft;
  const OperatorId query = add_linear(draft, "query", queries.tensor, queries.rows, pair.width(), Bias::Without);
  const OperatorId key = add_linear(draft, "key", keys.tensor, keys.rows, pair.width(), Bias::Without);
  const OperatorId value = add_linear(draft, "value", keys.tensor, keys.rows, pair.width(), Bias::Without);
  return {add_scores(draft, query, key, pair.attention(queries.rows, keys.rows)), value};
}

OperatorId add_output(Pair& pair, OperatorId context, Rows rows) {
  const Rows wide{rows.count, pair.width()};
  const OperatorId out = add_linear(pair.draft, "projection", context, wide, rows.width, Bias::Without);
  return add_dropout(pair.draft, "dropout", out, rows.values());
}

/// The attention of a post-normalised half, or of a cross-attention of T5.
OperatorId add_plain_attention(Pair& pair, const Side& queries, const Side& keys) {
  const AttentionShape shape = pair.attention(queries.rows, keys.rows);
  const Projected projected = add_projected_scores(pair, queries, keys);
  const OperatorId masked = add_mask(pair.draft, projected.scores, shape);
  return add_output(pair, add_context(pair.draft, masked, projected.values, shape), queries.rows);
}

/// T5's self-attention: the bias of relative positions, with the mask in it, is read and added to the scores.
OperatorId add_biased_attention(Pair& pair, const Side& stream, OperatorId owner) {
  const AttentionShape shape = pair.attention(stream.rows, stream.rows);
  const Projected projected = add_projected_scores(pair, stream, stream);
  Operator bias;
  bias.inputs = {projected.scores};
  bias.input_values = 2 * shape.scores();
  bias.output_values = shape.scores();
  bias.kernel.core_attention = true;
  set_parameters(bias, kRelativeBuckets * shape.heads, owner);
  const OperatorId biased = add_operator(pair.draft, "relative_bias", bias);
  return add_output(pair, add_context(pair.draft, biased, projected.values, shape), stream.rows);
}

OperatorId add_post_norm_half(Pair& pair, const Side& stream, OperatorId change) {
  return add_norm(pair.draft, "norm", add_residual(pair, change, stream), stream.rows);
}

OperatorId add_post_norm_mlp(Pair& pair, const Side& stream) {
  const Rows inner{stream.rows.count, pair.size.feed_forward};
  const OperatorId wide = add_linear(pair.draft, "up", stream.tensor, stream.rows, inner.width);
  const OperatorId active = add_tanh(pair.draft, "relu", wide, inner.values());
  const OperatorId narrow = add_linear(pair.draft, "down", active, inner, stream.rows.width);
  return add_post_norm_half(pair, stream, add_dropout(pair.draft, "dropout", narrow, stream.rows.values()));
}

/// What networks that normalise before each half do in their own way.
struct PreNormForm {
  OperatorId (*add_norm)(Draft& draft, const std::string& name, OperatorId input, Rows rows);
  Bias mlp_bias;
  bool relative_positions;  ///< in every self-attention, in place of positions at the embedding
  bool drops_last;          ///< a dropout follows the last normalisation of each side
};

constexpr PreNormForm kFairseqForm{add_norm, Bias::With, false, false};
constexpr PreNormForm kT5Form{add_rms_norm, Bias::Without, true, true};

OperatorId add_pre_norm_mlp(Pair& pair, const PreNormForm& form, const Side& stream) {
  Draft& draft = pair.draft;
  const Rows inner{stream.rows.count, pair.size.feed_forward};
  const OperatorId normal = form.add_norm(draft, "norm", stream.tensor, stream.rows);
  const OperatorId wide = add_linear(draft, "up", normal, stream.rows, inner.width, form.mlp_bias);
  const OperatorId active = add_tanh(draft, "relu", wide, inner.values());
  const OperatorId dropped = add_dropout(draft, "inner_dropout", active, inner.values());
  const OperatorId narrow = add_linear(draft, "down", dropped, inner, stream.rows.width, form.mlp_bias);
  return add_residual(pair, add_dropout(draft, "dropout", narrow, stream.rows.values()), stream);
}

/// One block of either side after Vaswani; `memory` is what the encoder made, for the decoder.
OperatorId add_block(Pair& pair, const std::string& side, std::int64_t block, Side stream, const Side* memory) {
  pair.draft.label = part_label(side, block, "attention");
  stream.tensor = add_post_norm_half(pair, stream, add_plain_attention(pair, stream, stream));
  if (memory != nullptr) {
    pair.draft.label = part_label(side, block, "cross_attention");
    stream.tensor = add_post_norm_half(pair, stream, add_plain_attention(pair, stream, *memory));
  }
  pair.draft.label = part_label(side, block, "mlp");
  return add_post_norm_mlp(pair, stream);
}

OperatorId add_pre_norm_block(Pair& pair, const PreNormForm& form, const std::string& side, std::int64_t block,
                              Side stream, const Side* memory) {
  pair.draft.label = part_label(side, block, "attention");
  const Side normal{form.add_norm(pair.draft, "norm", stream.tensor, stream.rows), stream.rows};
  const auto add_biased = [&] {
    const std::string first = part_label(side, 0, "attention").layer + ".relative_bias";
    return add_biased_attention(pair, normal, block == 0 ? OperatorId::none() : operator_named(pair.draft, first));
  };
  const OperatorId attended = form.relative_positions ? add_biased() : add_plain_attention(pair, normal, normal);
  stream.tensor = add_residual(pair, attended, stream);
  if (memory != nullptr) {
    pair.draft.label = part_label(side, block, "cross_attention");
    const Side again{form.add_norm(pair.draft, "norm", stream.tensor, stream.rows), stream.rows};
    stream.tensor = add_residual(pair, add_plain_attention(pair, again, *memory), stream);
  }
  pair.draft.label = part_label(side, block, "mlp");
  return add_pre_norm_mlp(pair, form, stream);
}

void require_positive(const EncoderDecoderSize& size) {
  const bool positive = size.layers > 0 && size.decoder_layers > 0 && size.hidden > 0 && size.heads > 0 &&
                        size.head_size > 0 && size.feed_forward > 0 && size.sequence > 0 && size.target_sequence > 0 &&
                        size.vocabulary > 0;
  if (!positive) throw InputError("every size of a transformer must be at least 1");
  constexpr TransformerSize kMost = largest_transformer();
  const bool countable = std::max(size.layers, size.decoder_layers) <= kMost.layers && size.hidden <= kMost.hidden &&
                         size.heads <= kMost.heads && size.head_size <= kMost.hidden / size.heads &&
                         size.feed_forward <= kMost.feed_forward &&
                         std::max(size.sequence, size.target_sequence) <= kMost.sequence &&
                         size.vocabulary <= kMost.vocabulary;
  if (!countable) throw InputError("a size is larger than supported for a transformer");
}

EncoderDecoderSize completed(EncoderDecoderSize size) {
  if (size.decoder_layers == 0) size.decoder_layers = size.layers;
  if (size.target_sequence == 0) size.target_sequence = size.sequence;
  if (size.feed_forward == 0) size.feed_forward = 4 * size.hidden;
  if (size.head_size == 0 && size.heads > 0) {
    if (size.hidden % size.heads != 0) {
      throw InputError("hidden must be a multiple of heads, found " + std::to_string(size.hidden) + " and " +
                       std::to_string(size.heads));
    }
    size.head_size = size.hidden / size.heads;
  }
  require_positive(size);
  return size;
}

Pair begin(const std::string& name, const std::string& family, const EncoderDecoderSize& given) {
  Pair pair;
  pair.size = completed(given);
  const EncoderDecoderSize& size = pair.size;
  Architecture& net = pair.draft.net;
  net.name = name;
  net.summary =
      fmt::format("{}, {} encoder and {} decoder blocks, hidden {}, {} heads, sequence {} to {}", family, size.layers,
                  size.decoder_layers, size.hidden, size.heads, size.sequence, size.target_sequence);
  net.input_bytes = kTokenBytes * std::max(size.sequence, size.target_sequence);
  net.tokens = size.sequence;
  return pair;
}

constexpr std::string_view kWords = "encoder.embedding.words";

/// The words of one side; the decoder's table is the encoder's.
OperatorId add_embedding(Pair& pair, const std::string& side, Rows rows, bool with_positions) {
  pair.draft.label = single_label(side + ".embedding");
  const OperatorId owner = side == "encoder" ? OperatorId::none() : operator_named(pair.draft, kWords);
  OperatorId stream = add_table(pair.draft, "words", pair.size.vocabulary, rows, owner);
  if (with_positions) stream = add_stream_sum(pair.draft, "positions", {stream}, rows.values());
  return add_dropout(pair.draft, "dropout", stream, rows.values());
}

void add_head(Pair& pair, OperatorId input) {
  const OperatorId logits =
      add_tied_decoder(pair.draft, kWords, input, pair.target(), pair.size.vocabulary, Bias::Without);
  add_loss(pair.draft, logits, pair.size.target_sequence, pair.size.vocabulary);
}

OperatorId add_last_norm(Pair& pair, const PreNormForm& form, const Side& stream) {
  const OperatorId normal = form.add_norm(pair.draft, "norm", stream.tensor, stream.rows);
  return form.drops_last ? add_dropout(pair.draft, "dropout", normal, stream.rows.values()) : normal;
}

void add_pre_norm_sides(Pair& pair, const PreNormForm& form) {
  const bool with_positions = !form.relative_positions;
  Side memory{add_embedding(pair, "encoder", pair.source(), with_positions), pair.source()};
  for (std::int64_t block = 0; block < pair.size.layers; ++block) {
    memory.tensor = add_pre_norm_block(pair, form, "encoder", block, memory, nullptr);
  }
  pair.draft.label = single_label("encoder.norm");
  memory.tensor = add_last_norm(pair, form, memory);
  Side stream{add_embedding(pair, "decoder", pair.target(), with_positions), pair.target()};
  for (std::int64_t block = 0; block < pair.size.decoder_layers; ++block) {
    stream.tensor = add_pre_norm_block(pair, form, "decoder", block, stream, &memory);
  }
  pair.draft.label = single_label("head");
  add_head(pair, add_last_norm(pair, form, stream));
}

void add_post_norm_sides(Pair& pair) {
  Side memory{add_embedding(pair, "encoder", pair.source(), true), pair.source()};
  for (std::int64_t block = 0; block < pair.size.layers; ++block) {
    memory.tensor = add_block(pair, "encoder", block, memory, nullptr);
  }
  Side stream{add_embedding(pair, "decoder", pair.target(), true), pair.target()};
  for (std::int64_t block = 0; block < pair.size.decoder_layers; ++block) {
    stream.tensor = add_block(pair, "decoder", block, stream, &memory);
  }
  pair.draft.label = single_label("head");
  add_head(pair, stream.tensor);
}

}  // namespace

Architecture encoder_decoder(const std::string& name, const EncoderDecoderSize& size, NormPlace norm) {
  Pair pair = begin(name, norm == NormPlace::After ? "Transformer" : "Transformer normalised first", size);
  pair.draft.net.source = "Vaswani et al., Attention Is All You Need, NeurIPS 2017, arXiv:1706.03762";
  if (norm == NormPlace::After) {
    add_post_norm_sides(pair);
  } else {
    pair.draft.net.source += ", as NVIDIA's fairseq";
    add_pre_norm_sides(pair, kFairseqForm);
  }
  return std::move(pair.draft.net);
}

Architecture t5(const std::string& name, const EncoderDecoderSize& size) {
  Pair pair = begin(name, "T5", size);
  pair.draft.net.source =
      "Raffel et al., Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer, JMLR 2020, "
      "arXiv:1910.10683";
  add_pre_norm_sides(pair, kT5Form);
  return std::move(pair.draft.net);
}

}  // namespace stagecraft
