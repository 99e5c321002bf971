#include "sim/workload/decoder.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/decoder_group.hpp"
#include "sim/workload/decoder_parts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// The sizes with each that was left out.
DecoderSize filled_decoder(DecoderSize size) {
  if (size.feed_forward == 0) size.feed_forward = 4 * size.hidden;
  if (size.embedding_size == 0) size.embedding_size = size.hidden;
  size.window = size.window == 0 ? size.sequence : std::min(size.sequence, size.window);
  if (size.latent.key_value_rank > 0) return size;
  if (size.head_size == 0) size.head_size = size.hidden / size.heads;
  if (size.key_value_heads == 0) size.key_value_heads = size.heads;
  return size;
}

std::string decoder_summary(const DecoderSize& size) {
  std::string text = fmt::format("decoder, {} blocks, hidden {}, {} heads", size.layers, size.hidden, size.heads);
  if (size.latent.key_value_rank > 0) {
    text += fmt::format(" from latent vectors of {}", size.latent.key_value_rank);
  } else if (size.key_value_heads != size.heads) {
    text += fmt::format(" ({} of keys and values)", size.key_value_heads);
  }
  if (size.experts.count > 0) text += fmt::format(", {} of {} experts", size.experts.active, size.experts.count);
  return text + fmt::format(", sequence {}", size.sequence);
}

/// A position table has rows that are no position of a sample, as that of OPT, so its size is not said.
NetworkSizes sizes_of_decoder(const DecoderSize& size) {
  const auto said_if = [](bool is_said, std::int64_t value) { return is_said ? std::optional(value) : std::nullopt; };
  const bool is_latent = size.latent.key_value_rank > 0;
  const bool has_mlp = size.experts.count == 0 || size.experts.dense_layers > 0;
  return {.hidden = size.hidden,
          .heads = size.heads,
          .key_value_heads = said_if(!is_latent, size.key_value_heads),
          .head_size = said_if(!is_latent, size.head_size),
          .feed_forward = said_if(has_mlp, size.feed_forward),
          .vocabulary = size.vocabulary,
          .positions = said_if(size.positions == 0, 0),
          .experts = size.experts.count,
          .active_experts = size.experts.active,
          .expert_feed_forward = size.experts.feed_forward,
          .shared_feed_forward = size.experts.shared_feed_forward,
          .query_rank = size.latent.query_rank,
          .key_value_rank = size.latent.key_value_rank,
          .nope = size.latent.nope,
          .rope = size.latent.rope,
          .value = size.latent.value};
}

OperatorId add_half_dropout(DecoderDraft& decoder, OperatorId change) {
  return decoder.size.form.dropout ? add_dropout(decoder.draft, "dropout", change, decoder.rows().values()) : change;
}

bool has_experts(const DecoderSize& size, std::int64_t block) {
  return size.experts.count > 0 && block >= size.experts.dense_layers;
}

DraftLabel decoder_label(const DecoderSize& size, std::int64_t block, const std::string& half) {
  const std::string name = "block" + std::to_string(block);
  const bool is_dense_exception = size.experts.count > 0 && !has_experts(size, block);
  return {name + "." + half, half, name, is_dense_exception ? "dense-block" : "block"};
}

/// What the second half adds to the stream, in its own layer.
std::vector<OperatorId> add_second_half(DecoderDraft& decoder, std::int64_t block, OperatorId normal) {
  if (has_experts(decoder.size, block)) return add_decoder_experts(decoder, normal);
  const Rows inner{decoder.size.sequence, decoder.size.feed_forward};
  return {add_half_dropout(decoder, add_decoder_mlp(decoder, normal, {"", inner}))};
}

OperatorId add_to_stream(DecoderDraft& decoder, std::vector<OperatorId> changes, OperatorId stream) {
  changes.push_back(stream);
  return add_stream_sum(decoder.draft, "residual", std::move(changes), decoder.rows().values());
}

/// The norms stand after the additions.
OperatorId add_post_norm_decoder_block(DecoderDraft& decoder, std::int64_t block, OperatorId stream) {
  decoder.draft.label = decoder_label(decoder.size, block, "attention");
  const OperatorId attended = add_half_dropout(decoder, add_decoder_attention(decoder, stream));
  const OperatorId sum = add_to_stream(decoder, {attended}, stream);
  const OperatorId middle = add_decoder_norm(decoder, "norm", sum, decoder.rows());
  decoder.draft.label = decoder_label(decoder.size, block, has_experts(decoder.size, block) ? "experts" : "mlp");
  const OperatorId end = add_to_stream(decoder, add_second_half(decoder, block, middle), middle);
  return add_decoder_norm(decoder, "norm", end, decoder.rows());
}

OperatorId add_decoder_block(DecoderDraft& decoder, std::int64_t block, OperatorId stream) {
  if (decoder.size.form.normalize_after) return add_post_norm_decoder_block(decoder, block, stream);
  const DecoderHalves halves = decoder.size.form.halves;
  decoder.draft.label = decoder_label(decoder.size, block, "attention");
  const OperatorId normal = add_decoder_norm(decoder, "norm", stream, decoder.rows());
  const OperatorId attended = add_half_dropout(decoder, add_decoder_attention(decoder, normal));
  std::vector<OperatorId> pending;  // what is still to be added to the stream
  OperatorId middle = stream;
  if (halves == DecoderHalves::Sequential) {
    middle = add_to_stream(decoder, {attended}, stream);
  } else {
    pending = {attended};
  }
  decoder.draft.label = decoder_label(decoder.size, block, has_experts(decoder.size, block) ? "experts" : "mlp");
  const OperatorId second =
      halves == DecoderHalves::ParallelOneNorm ? normal : add_decoder_norm(decoder, "norm", middle, decoder.rows());
  for (const OperatorId change : add_second_half(decoder, block, second)) pending.push_back(change);
  return add_to_stream(decoder, std::move(pending), middle);
}

OperatorId add_decoder_embedding(DecoderDraft& decoder) {
  Draft& draft = decoder.draft;
  const DecoderSize& size = decoder.size;
  draft.label = single_label("embedding");
  const Rows words{size.sequence, size.embedding_size};
  OperatorId stream = add_table(draft, "words", size.vocabulary, words);
  make_exit(draft, stream, words);
  if (words.width != size.hidden) {
    stream = add_linear(draft, "project_in", stream, own_rows(draft, words), size.hidden, Bias::Without);
  }
  if (size.positions > 0) {
    const OperatorId positions = add_table(draft, "positions", size.positions, decoder.rows());
    stream = add_stream_sum(draft, "sum", {stream, positions}, decoder.rows().values());
  }
  if (size.form.embedding_norm) stream = add_decoder_norm(decoder, "norm", stream, decoder.rows());
  return stream;
}

void add_decoder_head(DecoderDraft& decoder, OperatorId stream) {
  Draft& draft = decoder.draft;
  const DecoderSize& size = decoder.size;
  draft.label = single_label("head");
  if (!size.form.normalize_after) stream = add_decoder_norm(decoder, "norm", stream, decoder.rows());
  const Rows words{size.sequence, size.embedding_size};
  if (words.width != size.hidden) {
    stream = add_linear(draft, "project_out", stream, decoder.rows(), words.width, Bias::Without);
  }
  const OperatorId logits =
      size.form.tied ? add_tied_decoder(draft, "embedding.words", stream, words, size.vocabulary, Bias::Without)
                     : add_linear(draft, "decoder", stream, words, size.vocabulary, Bias::Without);
  make_entry(draft, logits, words);
  add_group_loss(draft, logits, size.sequence, size.vocabulary);
}

/// The decoder of these sizes as one member of a group has it.
Architecture decoder_member(const std::string& name, const DecoderSize& filled, const Degrees& degrees) {
  DecoderDraft decoder;
  decoder.size = member_size(filled, degrees);
  decoder.draft.degrees = degrees;
  Architecture& net = decoder.draft.net;
  net.name = name;
  net.summary = decoder_summary(filled);
  net.sizes = sizes_of_decoder(filled);
  net.input_bytes = kTokenBytes * decoder.size.sequence;
  net.tokens = decoder.size.sequence;
  OperatorId stream = add_decoder_embedding(decoder);
  for (std::int64_t block = 0; block < filled.layers; ++block) stream = add_decoder_block(decoder, block, stream);
  add_decoder_head(decoder, stream);
  return std::move(net);
}

}  // namespace

OperatorId add_decoder_norm(DecoderDraft& decoder, const std::string& name, OperatorId input, Rows rows) {
  return decoder.size.form.layer_norm ? add_norm(decoder.draft, name, input, rows)
                                      : add_rms_norm(decoder.draft, name, input, rows);
}

Architecture decoder(const std::string& name, const DecoderSize& size) {
  if (const auto defect = defect_of(size)) {
    throw InputError("the size '" + defect->key + "' of a decoder: expected " + defect->expected);
  }
  const DecoderSize filled = filled_decoder(size);
  Architecture net = decoder_member(name, filled, {});
  net.division.by_tokens = true;
  net.division.member = [name, filled](const Degrees& degrees) {
    require_divisible_decoder(name, filled, degrees);
    return decoder_member(name, filled, degrees);
  };
  return net;
}

}  // namespace stagecraft
