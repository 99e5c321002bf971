#include "sim/workload/xlnet.hpp"

#include "sim/workload/draft.hpp"

#include <fmt/core.h>

#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kSegments = 2;  ///< same or other segment

/// An XLNet under construction.
struct Stream {
  Draft draft;
  TransformerSize size;
  OperatorId positions;  ///< encodings of all distances

  [[nodiscard]] Rows rows() const { return {size.sequence, size.hidden}; }
  [[nodiscard]] Rows distances() const { return {2 * size.sequence, size.hidden}; }
  [[nodiscard]] AttentionShape attention() const { return {size.heads, size.sequence, size.sequence, size.hidden}; }
};

/// The queries plus a learned vector.
OperatorId add_query_bias(Stream& stream, const std::string& name, OperatorId queries) {
  Operator op;
  op.inputs = {queries};
  op.input_values = op.output_values = stream.rows().values();
  op.parameters = stream.size.hidden;
  return add_operator(stream.draft, name, op);
}

/// One of the products that scores are the sum of.
struct Product {
  std::int64_t inner = 0;    ///< values of the second operand
  std::int64_t outputs = 0;  ///< for each head and query
  std::int64_t macs = 0;
};

OperatorId add_product(Stream& stream, const std::string& name, std::vector<OperatorId> inputs,
                       const Product& product) {
  Operator op;
  op.kind = OperatorKind::Matmul;
  op.inputs = std::move(inputs);
  op.input_values = stream.rows().values() + product.inner;
  op.output_values = stream.size.heads * stream.size.sequence * product.outputs;
  op.macs = product.macs;
  op.saves_input = true;
  op.kernel.core_attention = true;
  return add_operator(stream.draft, name, op);
}

/// Scores by relative position: against 2s distances, then each row shifted so that its own distances remain.
OperatorId add_position_scores(Stream& stream, OperatorId queries) {
  const AttentionShape shape = stream.attention();
  const OperatorId keys =
      add_linear(stream.draft, "position_keys", stream.positions, stream.distances(), shape.width, Bias::Without);
  stream.draft.net.operators[keys].constant_input = true;
  const OperatorId biased = add_query_bias(stream, "position_query", queries);
  const Product product{stream.distances().values(), 2 * shape.keys, 2 * shape.queries * shape.keys * shape.width};
  const OperatorId unshifted = add_product(stream, "position_scores", {biased, keys}, product);
  Operator shift;
  shift.inputs = {unshifted};
  shift.input_values = 2 * shape.scores();
  shift.output_values = shape.scores();
  shift.kernel.core_attention = true;
  return add_operator(stream.draft, "shift", shift);
}

/// Scores by whether two tokens are of one segment. The mask of segments is made from the token types and kept.
OperatorId add_segment_scores(Stream& stream, OperatorId queries) {
  const AttentionShape shape = stream.attention();
  const OperatorId biased = add_query_bias(stream, "segment_query", queries);
  Operator table;
  table.kind = OperatorKind::Linear;
  table.inputs = {biased};
  table.input_values = stream.rows().values();
  table.output_values = kSegments * shape.heads * shape.queries;
  table.macs = kSegments * stream.rows().values();
  table.parameters = kSegments * shape.width;
  table.saves_input = true;
  const OperatorId choices = add_operator(stream.draft, "segment", table);
  Operator spread;
  spread.kind = OperatorKind::Matmul;
  spread.inputs = {choices};
  spread.input_values = table.output_values + kSegments * shape.queries * shape.keys;
  spread.output_values = shape.scores();
  spread.macs = kSegments * shape.scores();
  spread.saves_input = true;
  spread.saved_values = kSegments * shape.queries * shape.keys;
  spread.kernel.core_attention = true;
  return add_operator(stream.draft, "segment_scores", spread);
}

OperatorId add_relative_attention(Stream& stream, OperatorId input) {
  Draft& draft = stream.draft;
  const AttentionShape shape = stream.attention();
  const OperatorId queries = add_linear(draft, "query", input, stream.rows(), shape.width, Bias::Without);
  const OperatorId keys = add_linear(draft, "key", input, stream.rows(), shape.width, Bias::Without);
  const OperatorId values = add_linear(draft, "value", input, stream.rows(), shape.width, Bias::Without);
  const OperatorId content = add_scores(draft, add_query_bias(stream, "content_query", queries), keys, shape);
  const OperatorId positional = add_position_scores(stream, queries);
  const OperatorId segmental = add_segment_scores(stream, queries);
  const OperatorId sum = add_sum(draft, "score_sum", {content, positional, segmental}, shape.scores());
  set_core_attention(draft, sum);
  const OperatorId context = add_context(draft, add_mask(draft, sum, shape), values, shape);
  const OperatorId out = add_linear(draft, "projection", context, stream.rows(), shape.width, Bias::Without);
  return add_dropout(draft, "dropout", out, stream.rows().values());
}

OperatorId add_feed_forward(Stream& stream, OperatorId input) {
  const Rows inner{stream.size.sequence, stream.size.feed_forward};
  const OperatorId wide = add_linear(stream.draft, "up", input, stream.rows(), inner.width);
  const OperatorId active = add_gelu(stream.draft, "gelu", wide, inner.values());
  const OperatorId dropped = add_dropout(stream.draft, "inner_dropout", active, inner.values());
  const OperatorId narrow = add_linear(stream.draft, "down", dropped, inner, stream.size.hidden);
  return add_dropout(stream.draft, "dropout", narrow, stream.rows().values());
}

OperatorId add_half(Stream& stream, OperatorId change, OperatorId input) {
  const OperatorId sum = add_sum(stream.draft, "residual", {change, input}, stream.rows().values());
  return add_norm(stream.draft, "norm", sum, stream.rows());
}

OperatorId add_block(Stream& stream, std::int64_t block, OperatorId input) {
  const std::string name = "block" + std::to_string(block);
  stream.draft.label = {name + ".attention", "attention", name, "block"};
  const OperatorId middle = add_half(stream, add_relative_attention(stream, input), input);
  stream.draft.label = {name + ".mlp", "mlp", name, "block"};
  return add_half(stream, add_feed_forward(stream, middle), middle);
}

/// The words; the vector that stands for a masked word in pretraining is a parameter too.
OperatorId add_words(Stream& stream) {
  stream.draft.label = single_label("embedding");
  const OperatorId words = add_table(stream.draft, "words", stream.size.vocabulary + 1, stream.rows());
  return add_dropout(stream.draft, "dropout", words, stream.rows().values());
}

/// Sines and cosines, which depend on nothing and need no gradient, and their dropout.
OperatorId add_distances(Stream& stream) {
  stream.draft.label = single_label("positions");
  Operator waves;
  waves.inputs = {OperatorId::none()};
  waves.output_values = stream.distances().values();
  const OperatorId made = add_operator(stream.draft, "sinusoids", waves);
  const OperatorId dropped = add_dropout(stream.draft, "dropout", made, stream.distances().values());
  stream.draft.net.operators[dropped].constant_input = true;
  return dropped;
}

}  // namespace

Architecture xlnet(const std::string& name, const TransformerSize& size) {
  Stream stream;
  stream.size = size;
  stream.size.positions = size.sequence;
  if (size.feed_forward == 0) stream.size.feed_forward = 4 * size.hidden;
  require_countable(stream.size);
  Architecture& net = stream.draft.net;
  net.name = name;
  net.summary = fmt::format("XLNet, one stream, {} blocks, hidden {}, {} heads, sequence {}", size.layers, size.hidden,
                            size.heads, size.sequence);
  net.source = "Yang et al., XLNet, NeurIPS 2019, arXiv:1906.08237";
  net.input_bytes = kTokenBytes * size.sequence;
  net.tokens = size.sequence;
  OperatorId tensor = add_words(stream);
  stream.positions = add_distances(stream);
  for (std::int64_t block = 0; block < size.layers; ++block) tensor = add_block(stream, block, tensor);
  stream.draft.label = single_label("output");
  add_dropout(stream.draft, "dropout", tensor, stream.rows().values());
  return std::move(net);
}

}  // namespace stagecraft
