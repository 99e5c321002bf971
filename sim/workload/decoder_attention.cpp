#include "sim/workload/decoder_parts.hpp"

#include <utility>

namespace stagecraft {
namespace {

Bias bias_if(bool given) { return given ? Bias::With : Bias::Without; }

/// Rotates queries and keys, each head normalised before where the family does so: one kernel. It keeps nothing; the
/// backward of the norm is computed from its output.
OperatorId add_rotated(DecoderDraft& decoder, OperatorId queries, OperatorId keys) {
  const DecoderSize& size = decoder.size;
  Operator op;
  op.inputs = {queries, keys};
  op.input_values = op.output_values = size.sequence * (size.heads + size.key_value_heads) * size.head_size;
  op.parameters = size.form.query_key_norm ? 2 * size.head_size : 0;
  op.saves_output = size.form.query_key_norm;
  return add_operator(decoder.draft, "rotary", op);
}

/// Splits what the two products made, rotates the part with positions, gives it to the keys of all heads: the queries,
/// keys and values of all heads in one tensor.
OperatorId add_latent_heads(DecoderDraft& decoder, OperatorId queries, OperatorId keys_values, OperatorId latent) {
  const LatentSize& part = decoder.size.latent;
  const std::int64_t positions = decoder.size.sequence * decoder.size.heads;
  Operator op;
  op.inputs = {queries, keys_values, latent};
  op.input_values = positions * (2 * part.nope + part.rope + part.value) + decoder.size.sequence * part.rope;
  op.output_values = positions * (2 * (part.nope + part.rope) + part.value);
  return add_operator(decoder.draft, "rotary", op);
}

OperatorId add_latent_queries(DecoderDraft& decoder, OperatorId normal) {
  const LatentSize& part = decoder.size.latent;
  const std::int64_t width = decoder.size.heads * (part.nope + part.rope);
  const Rows all = decoder.all_rows();
  if (part.query_rank == 0) return add_entry_product(decoder.draft, "query", normal, all, width, Bias::Without);
  const Rows narrow{decoder.size.sequence, part.query_rank};
  const OperatorId down = add_entry_product(decoder.draft, "query_down", normal, all, narrow.width, Bias::Without);
  const OperatorId latent = add_decoder_norm(decoder, "query_norm", down, narrow);
  return add_linear(decoder.draft, "query_up", latent, narrow, width, Bias::Without);
}

OperatorId add_latent_attention(DecoderDraft& decoder, OperatorId normal) {
  Draft& draft = decoder.draft;
  const DecoderSize& size = decoder.size;
  const LatentSize& part = size.latent;
  const OperatorId queries = add_latent_queries(decoder, normal);
  const Rows narrow{size.sequence, part.key_value_rank};
  const OperatorId down =
      add_entry_product(draft, "key_value_down", normal, decoder.all_rows(), narrow.width + part.rope, Bias::Without);
  const OperatorId latent = add_decoder_norm(decoder, "key_value_norm", down, narrow);
  const OperatorId up =
      add_linear(draft, "key_value_up", latent, narrow, size.heads * (part.nope + part.value), Bias::Without);
  const OperatorId heads = add_latent_heads(decoder, queries, up, down);
  return add_decoder_fused_attention(decoder, {heads}, {size.heads, part.nope + part.rope, part.value});
}

OperatorId add_grouped_attention(DecoderDraft& decoder, OperatorId normal) {
  Draft& draft = decoder.draft;
  const DecoderSize& size = decoder.size;
  const std::int64_t narrow = size.key_value_heads * size.head_size;
  const Bias bias = bias_if(size.form.query_bias);
  const Rows all = decoder.all_rows();
  const OperatorId queries = add_entry_product(draft, "query", normal, all, size.heads * size.head_size, bias);
  const OperatorId keys = add_entry_product(draft, "key", normal, all, narrow, bias);
  const OperatorId values = add_entry_product(draft, "value", normal, all, narrow, bias);
  std::vector<OperatorId> inputs = {queries, keys, values};
  if (size.form.rotary || size.form.query_key_norm) inputs = {add_rotated(decoder, queries, keys), values};
  return add_decoder_fused_attention(decoder, std::move(inputs),
                                     {size.key_value_heads, size.head_size, size.head_size});
}

}  // namespace

OperatorId add_decoder_attention(DecoderDraft& decoder, OperatorId normal) {
  const DecoderSize& size = decoder.size;
  const bool is_latent = size.latent.key_value_rank > 0;
  const OperatorId context = is_latent ? add_latent_attention(decoder, normal) : add_grouped_attention(decoder, normal);
  const Rows wide{size.sequence, size.heads * (is_latent ? size.latent.value : size.head_size)};
  return add_exit_product(decoder.draft, "projection", context, wide, size.hidden, bias_if(size.form.projection_bias));
}

}  // namespace stagecraft
