#include "sim/workload/draft.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kNormStatisticsBytes = 8;  ///< mean and reciprocal deviation of each row, fp32
constexpr std::int64_t kLogSumBytes = 4;          ///< of each query and head, fp32
constexpr std::int64_t kRmsStatisticsBytes = 4;   ///< reciprocal root mean square of each row, fp32
constexpr std::int64_t kLogitBytes = 4;           ///< of each logit that a loss keeps, fp32

/// One tensor in, one of the same size out.
Operator pointwise(OperatorId input, std::int64_t values) {
  Operator op;
  op.inputs = {input};
  op.input_values = op.output_values = values;
  return op;
}

}  // namespace

OperatorId add_operator(Draft& draft, const std::string& name, Operator op) {
  op.name = draft.label.layer + "." + name;
  op.layer = draft.label.layer;
  op.layer_type = draft.label.layer_type;
  op.block = draft.label.block;
  op.block_type = draft.label.block_type;
  return draft.net.operators.push_back(std::move(op));
}

DraftLabel single_label(const std::string& name) { return {name, "", name, ""}; }

OperatorId operator_named(const Draft& draft, std::string_view name) {
  const auto found = std::ranges::find(draft.net.operators, name, &Operator::name);
  STAGECRAFT_CHECK(found != draft.net.operators.end(), "an operator that has been added");
  return OperatorId(found - draft.net.operators.begin());
}

void set_parameters(Operator& op, std::int64_t parameters, OperatorId owner) {
  (owner.is_none() ? op.parameters : op.tied.parameters) = parameters;
  op.tied.owner = owner;
}

OperatorId add_table(Draft& draft, const std::string& name, std::int64_t entries, Rows rows, OperatorId owner) {
  Operator op = pointwise(OperatorId::none(), rows.values());
  op.kind = OperatorKind::Embedding;
  set_parameters(op, entries * rows.width, owner);
  op.saves_input = true;
  return add_operator(draft, name, op);
}

OperatorId add_sum(Draft& draft, const std::string& name, std::vector<OperatorId> terms, std::int64_t values) {
  Operator op;
  op.input_values = static_cast<std::int64_t>(terms.size()) * values;
  op.inputs = std::move(terms);
  op.output_values = values;
  return add_operator(draft, name, op);
}

OperatorId add_stream_sum(Draft& draft, const std::string& name, std::vector<OperatorId> terms, std::int64_t values) {
  const OperatorId sum = add_sum(draft, name, std::move(terms), values);
  draft.net.operators[sum].ends_residual = true;
  return sum;
}

OperatorId add_norm(Draft& draft, const std::string& name, OperatorId input, Rows rows) {
  Operator op = pointwise(input, rows.values());
  op.kind = OperatorKind::Normalization;
  op.parameters = 2 * rows.width;
  op.saves_input = true;
  op.saved_bytes = kNormStatisticsBytes * rows.count;
  return add_operator(draft, name, op);
}

OperatorId add_rms_norm(Draft& draft, const std::string& name, OperatorId input, Rows rows) {
  Operator op = pointwise(input, rows.values());
  op.kind = OperatorKind::Normalization;
  op.parameters = rows.width;
  op.saves_input = true;
  op.saved_bytes = kRmsStatisticsBytes * rows.count;
  return add_operator(draft, name, op);
}

OperatorId add_dropout(Draft& draft, const std::string& name, OperatorId input, std::int64_t values) {
  Operator op = pointwise(input, values);
  op.saved_bytes = kDropoutMaskBytes * values;
  return add_operator(draft, name, op);
}

OperatorId add_linear(Draft& draft, const std::string& name, OperatorId input, Rows from, std::int64_t to, Bias bias) {
  Operator op;
  op.kind = OperatorKind::Linear;
  op.inputs = {input};
  op.input_values = from.values();
  op.output_values = from.count * to;
  op.macs = from.values() * to;
  op.parameters = (from.width + (bias == Bias::With ? 1 : 0)) * to;
  op.saves_input = true;
  return add_operator(draft, name, op);
}

OperatorId add_gelu(Draft& draft, const std::string& name, OperatorId input, std::int64_t values) {
  Operator op = pointwise(input, values);
  op.saves_input = true;
  return add_operator(draft, name, op);
}

OperatorId add_tanh(Draft& draft, const std::string& name, OperatorId input, std::int64_t values) {
  Operator op = pointwise(input, values);
  op.saves_output = true;
  return add_operator(draft, name, op);
}

void set_core_attention(Draft& draft, OperatorId id) { draft.net.operators[id].kernel.core_attention = true; }

OperatorId add_scores(Draft& draft, OperatorId queries, OperatorId keys, const AttentionShape& shape) {
  Operator op;
  op.kind = OperatorKind::Matmul;
  op.inputs = {queries};
  if (keys != queries) op.inputs.push_back(keys);
  op.input_values = (shape.queries + shape.keys) * shape.width;
  op.output_values = shape.scores();
  op.macs = shape.queries * shape.keys * shape.width;
  op.saves_input = true;
  op.kernel.core_attention = true;
  op.kernel.head = {.inner = shape.head_size(), .columns = shape.keys};
  return add_operator(draft, "scores", op);
}

OperatorId add_mask(Draft& draft, OperatorId scores, const AttentionShape& shape) {
  Operator mask = pointwise(scores, shape.scores());
  mask.kernel.core_attention = true;
  return add_operator(draft, "scale_mask", mask);
}

OperatorId add_context(Draft& draft, OperatorId masked, OperatorId values, const AttentionShape& shape) {
  Operator softmax = pointwise(masked, shape.scores());
  softmax.kind = OperatorKind::Softmax;
  softmax.saves_output = true;
  softmax.kernel.core_attention = true;
  const OperatorId weights = add_operator(draft, "softmax", softmax);
  const OperatorId dropped = shape.drops ? add_dropout(draft, "attention_dropout", weights, shape.scores()) : weights;
  set_core_attention(draft, dropped);
  Operator context;
  context.kind = OperatorKind::Matmul;
  context.inputs = {dropped, values};
  context.input_values = shape.scores() + shape.keys * shape.width;
  context.output_values = shape.queries * shape.width;
  context.macs = shape.queries * shape.keys * shape.width;
  context.saves_input = true;
  context.kernel.core_attention = true;
  context.kernel.head = {.inner = shape.keys, .columns = shape.head_size()};
  return add_operator(draft, "context", context);
}

OperatorId add_attention(Draft& draft, OperatorId queries, OperatorId keys, OperatorId values,
                         const AttentionShape& shape) {
  return add_context(draft, add_mask(draft, add_scores(draft, queries, keys, shape), shape), values, shape);
}

OperatorId add_fused_attention(Draft& draft, std::vector<OperatorId> inputs, std::int64_t read_values,
                               const FusedAttentionShape& shape) {
  const std::int64_t values_of_pair = shape.heads * (shape.query_size + shape.value_size);
  Operator op;
  op.kind = OperatorKind::Attention;
  op.inputs = std::move(inputs);
  op.input_values = read_values;
  op.output_values = shape.queries * shape.heads * shape.value_size;
  op.macs = shape.queries * shape.keys * values_of_pair;
  op.kernel.masked_macs = shape.twice_masked * values_of_pair / 2;
  op.saves_input = true;
  op.saves_output = true;
  op.saved_bytes = kLogSumBytes * shape.queries * shape.heads;
  return add_operator(draft, "attention", op);
}

OperatorId add_tied_decoder(Draft& draft, std::string_view words, OperatorId input, Rows rows, std::int64_t vocabulary,
                            Bias bias) {
  Operator op;
  op.kind = OperatorKind::Linear;
  op.inputs = {input};
  op.input_values = rows.values();
  op.output_values = rows.count * vocabulary;
  op.macs = rows.values() * vocabulary;
  set_parameters(op, vocabulary * rows.width, operator_named(draft, words));
  op.parameters = bias == Bias::With ? vocabulary : 0;
  op.saves_input = true;
  return add_operator(draft, "decoder", op);
}

OperatorId add_loss(Draft& draft, OperatorId logits, std::int64_t tokens, std::int64_t vocabulary) {
  Operator softmax = pointwise(logits, tokens * vocabulary);
  softmax.kind = OperatorKind::Loss;
  softmax.saved_bytes = kLogitBytes * tokens * vocabulary;
  const OperatorId logarithms = add_operator(draft, "log_softmax", softmax);
  Operator loss;
  loss.kind = OperatorKind::Loss;
  loss.inputs = {logarithms};
  loss.input_values = tokens * vocabulary;
  loss.output_values = 1;
  return add_operator(draft, "loss", loss);
}

}  // namespace stagecraft
