#include "sim/workload/transformer.hpp"

#include "sim/base/error.hpp"

#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kTokenBytes = 8;           ///< token numbers are 64-bit integers
constexpr std::int64_t kDropoutMaskBytes = 1;     ///< one byte per value
constexpr std::int64_t kNormStatisticsBytes = 8;  ///< mean and reciprocal deviation of each token, fp32

/// Which layer and which block the operators being added belong to.
struct Label {
  std::string layer;
  std::string layer_type;
  std::string block;
  std::string block_type;
};

/// A network under construction: each function appends one operator and returns the tensor it makes.
struct Draft {
  Architecture net;
  TransformerSize size;
  Label label;

  [[nodiscard]] std::int64_t tokens() const { return size.sequence; }
  [[nodiscard]] std::int64_t activations() const { return size.sequence * size.hidden; }
  [[nodiscard]] std::int64_t score_values() const { return size.heads * size.sequence * size.sequence; }
};

OperatorId add(Draft& draft, const std::string& name, Operator op) {
  op.name = draft.label.layer + "." + name;
  op.layer = draft.label.layer;
  op.layer_type = draft.label.layer_type;
  op.block = draft.label.block;
  op.block_type = draft.label.block_type;
  return draft.net.operators.push_back(std::move(op));
}

OperatorId add_table(Draft& draft, const std::string& name, std::int64_t rows) {
  Operator op;
  op.kind = OperatorKind::Embedding;
  op.inputs = {OperatorId::none()};
  op.input_values = op.output_values = draft.activations();
  op.parameters = rows * draft.size.hidden;
  op.saves_input = true;
  return add(draft, name, op);
}

OperatorId add_sum(Draft& draft, const std::string& name, std::vector<OperatorId> terms) {
  Operator op;
  op.input_values = static_cast<std::int64_t>(terms.size()) * draft.activations();
  op.inputs = std::move(terms);
  op.output_values = draft.activations();
  return add(draft, name, op);
}

OperatorId add_norm(Draft& draft, const std::string& name, OperatorId input) {
  Operator op;
  op.kind = OperatorKind::Normalization;
  op.inputs = {input};
  op.input_values = op.output_values = draft.activations();
  op.parameters = 2 * draft.size.hidden;
  op.saves_input = true;
  op.saved_bytes = kNormStatisticsBytes * draft.tokens();
  return add(draft, name, op);
}

OperatorId add_dropout(Draft& draft, const std::string& name, OperatorId input, std::int64_t values) {
  Operator op;
  op.inputs = {input};
  op.input_values = op.output_values = values;
  op.saved_bytes = kDropoutMaskBytes * values;
  return add(draft, name, op);
}

/// A dense layer with bias applied to `rows` vectors.
OperatorId add_linear(Draft& draft, const std::string& name, OperatorId input, std::int64_t rows, std::int64_t from,
                      std::int64_t to) {
  Operator op;
  op.kind = OperatorKind::Linear;
  op.inputs = {input};
  op.input_values = rows * from;
  op.output_values = rows * to;
  op.macs = rows * from * to;
  op.parameters = (from + 1) * to;
  op.saves_input = true;
  return add(draft, name, op);
}

/// An activation whose backward needs its input.
OperatorId add_gelu(Draft& draft, const std::string& name, OperatorId input, std::int64_t values) {
  Operator op;
  op.inputs = {input};
  op.input_values = op.output_values = values;
  op.saves_input = true;
  return add(draft, name, op);
}

/// An activation whose backward needs its output.
OperatorId add_tanh(Draft& draft, const std::string& name, OperatorId input, std::int64_t values) {
  Operator op;
  op.inputs = {input};
  op.input_values = op.output_values = values;
  op.saves_output = true;
  return add(draft, name, op);
}

/// softmax(Q K^T / sqrt(d) + mask) V with dropout. `queries`, `keys`, `values` may be one tensor that holds all three.
OperatorId add_attention_core(Draft& draft, OperatorId queries, OperatorId keys, OperatorId values) {
  const std::int64_t macs = draft.tokens() * draft.activations();
  Operator scores;
  scores.kind = OperatorKind::Matmul;
  scores.inputs = {queries};
  if (keys != queries) scores.inputs.push_back(keys);
  scores.input_values = 2 * draft.activations();
  scores.output_values = draft.score_values();
  scores.macs = macs;
  scores.saves_input = true;
  const OperatorId raw = add(draft, "scores", scores);

  Operator mask;
  mask.inputs = {raw};
  mask.input_values = mask.output_values = draft.score_values();
  const OperatorId masked = add(draft, "scale_mask", mask);

  Operator softmax;
  softmax.kind = OperatorKind::Softmax;
  softmax.inputs = {masked};
  softmax.input_values = softmax.output_values = draft.score_values();
  softmax.saves_output = true;
  const OperatorId weights = add(draft, "softmax", softmax);
  const OperatorId dropped = add_dropout(draft, "attention_dropout", weights, draft.score_values());

  Operator context;
  context.kind = OperatorKind::Matmul;
  context.inputs = {dropped, values};
  context.input_values = draft.score_values() + draft.activations();
  context.output_values = draft.activations();
  context.macs = macs;
  context.saves_input = true;
  return add(draft, "context", context);
}

OperatorId add_mlp_core(Draft& draft, OperatorId input) {
  const std::int64_t hidden = draft.size.hidden;
  const std::int64_t inner = draft.size.feed_forward;
  const OperatorId wide = add_linear(draft, "up", input, draft.tokens(), hidden, inner);
  const OperatorId active = add_gelu(draft, "gelu", wide, draft.tokens() * inner);
  const OperatorId narrow = add_linear(draft, "down", active, draft.tokens(), inner, hidden);
  return add_dropout(draft, "dropout", narrow, draft.activations());
}

OperatorId add_projection(Draft& draft, OperatorId context) {
  const OperatorId out = add_linear(draft, "projection", context, draft.tokens(), draft.size.hidden, draft.size.hidden);
  return add_dropout(draft, "dropout", out, draft.activations());
}

Label half_label(std::int64_t block, const std::string& half) {
  const std::string name = "block" + std::to_string(block);
  return {name + "." + half, half, name, "block"};
}

OperatorId add_bert_block(Draft& draft, std::int64_t block, OperatorId input) {
  const std::int64_t hidden = draft.size.hidden;
  draft.label = half_label(block, "attention");
  const OperatorId queries = add_linear(draft, "query", input, draft.tokens(), hidden, hidden);
  const OperatorId keys = add_linear(draft, "key", input, draft.tokens(), hidden, hidden);
  const OperatorId values = add_linear(draft, "value", input, draft.tokens(), hidden, hidden);
  const OperatorId attended = add_projection(draft, add_attention_core(draft, queries, keys, values));
  const OperatorId middle = add_norm(draft, "norm", add_sum(draft, "residual", {attended, input}));
  draft.label = half_label(block, "mlp");
  const OperatorId transformed = add_mlp_core(draft, middle);
  return add_norm(draft, "norm", add_sum(draft, "residual", {transformed, middle}));
}

OperatorId add_gpt_block(Draft& draft, std::int64_t block, OperatorId input) {
  const std::int64_t hidden = draft.size.hidden;
  draft.label = half_label(block, "attention");
  const OperatorId normal = add_norm(draft, "norm", input);
  const OperatorId qkv = add_linear(draft, "qkv", normal, draft.tokens(), hidden, 3 * hidden);
  const OperatorId attended = add_projection(draft, add_attention_core(draft, qkv, qkv, qkv));
  const OperatorId middle = add_sum(draft, "residual", {attended, input});
  draft.label = half_label(block, "mlp");
  const OperatorId transformed = add_mlp_core(draft, add_norm(draft, "norm", middle));
  return add_sum(draft, "residual", {transformed, middle});
}

/// The product with the transposed word table, a copy of which lies here.
OperatorId add_tied_decoder(Draft& draft, OperatorId input, bool bias) {
  Operator op;
  op.kind = OperatorKind::Linear;
  op.inputs = {input};
  op.input_values = draft.activations();
  op.output_values = draft.tokens() * draft.size.vocabulary;
  op.macs = draft.activations() * draft.size.vocabulary;
  op.tied_parameters = draft.size.vocabulary * draft.size.hidden;
  op.parameters = bias ? draft.size.vocabulary : 0;
  op.saves_input = true;
  return add(draft, "decoder", op);
}

/// Cross-entropy over the vocabulary: PyTorch keeps the logarithms of all probabilities.
OperatorId add_loss(Draft& draft, OperatorId logits) {
  const std::int64_t values = draft.tokens() * draft.size.vocabulary;
  Operator softmax;
  softmax.kind = OperatorKind::Softmax;
  softmax.inputs = {logits};
  softmax.input_values = softmax.output_values = values;
  softmax.saves_output = true;
  const OperatorId logarithms = add(draft, "log_softmax", softmax);
  Operator loss;
  loss.inputs = {logarithms};
  loss.input_values = values;
  loss.output_values = 1;
  loss.saves_input = true;
  loss.saved_bytes = kTokenBytes * draft.tokens();
  return add(draft, "loss", loss);
}

/// The dense layer and tanh on the first token. PyTorch keeps the whole tensor that the token is a view of.
OperatorId add_pooler(Draft& draft, OperatorId input) {
  const OperatorId dense = add_linear(draft, "pooler", input, 1, draft.size.hidden, draft.size.hidden);
  return add_tanh(draft, "tanh", dense, draft.size.hidden);
}

void add_pretraining_head(Draft& draft, OperatorId input) {
  const OperatorId pooled = add_pooler(draft, input);
  const OperatorId dense = add_linear(draft, "dense", input, draft.tokens(), draft.size.hidden, draft.size.hidden);
  const OperatorId active = add_gelu(draft, "gelu", dense, draft.activations());
  const OperatorId logits = add_tied_decoder(draft, add_norm(draft, "norm", active), true);
  const OperatorId next = add_linear(draft, "next_sentence", pooled, 1, draft.size.hidden, 2);
  const OperatorId loss = add_loss(draft, logits);
  draft.net.operators[loss].inputs.push_back(next);
}

void require_sound(const TransformerSize& size) {
  const bool positive = size.layers > 0 && size.hidden > 0 && size.heads > 0 && size.sequence > 0 &&
                        size.vocabulary > 0 && size.positions > 0 && size.feed_forward >= 0;
  if (!positive) throw InputError("every size of a transformer must be at least 1");
  constexpr TransformerSize kMost = largest_transformer();
  const bool countable = size.layers <= kMost.layers && size.hidden <= kMost.hidden &&
                         size.feed_forward <= kMost.feed_forward && size.sequence <= kMost.sequence &&
                         size.positions <= kMost.positions && size.vocabulary <= kMost.vocabulary;
  if (!countable) throw InputError("a size exceeds that of the largest transformer that can be counted");
  if (size.hidden % size.heads != 0) {
    throw InputError("hidden must be a multiple of heads, found " + std::to_string(size.hidden) + " and " +
                     std::to_string(size.heads));
  }
  if (size.sequence > size.positions) {
    throw InputError("a sequence of " + std::to_string(size.sequence) + " tokens does not fit in " +
                     std::to_string(size.positions) + " positions");
  }
}

Draft begin(const std::string& name, const std::string& family, const TransformerSize& size) {
  require_sound(size);
  Draft draft;
  draft.size = size;
  if (size.feed_forward == 0) draft.size.feed_forward = 4 * size.hidden;
  draft.net.name = name;
  draft.net.summary = family + ", " + std::to_string(size.layers) + " blocks, hidden " + std::to_string(size.hidden) +
                      ", " + std::to_string(size.heads) + " heads, sequence " + std::to_string(size.sequence);
  draft.net.input_bytes = kTokenBytes * size.sequence;
  draft.label = {"embedding", "", "embedding", ""};
  return draft;
}

void relabel(Draft& draft, const std::string& name) { draft.label = {name, "", name, ""}; }

}  // namespace

Architecture bert(const std::string& name, const TransformerSize& size, BertHead head) {
  Draft draft = begin(name, head == BertHead::Pooler ? "BERT encoder" : "BERT with its pretraining heads", size);
  draft.net.source = "Devlin et al., BERT, NAACL 2019, arXiv:1810.04805";
  const OperatorId words = add_table(draft, "words", size.vocabulary);
  const OperatorId positions = add_table(draft, "positions", size.positions);
  const OperatorId segments = add_table(draft, "segments", 2);
  const OperatorId normal = add_norm(draft, "norm", add_sum(draft, "sum", {words, positions, segments}));
  OperatorId stream = add_dropout(draft, "dropout", normal, draft.activations());
  for (std::int64_t block = 0; block < size.layers; ++block) stream = add_bert_block(draft, block, stream);
  relabel(draft, head == BertHead::Pooler ? "pooler" : "head");
  if (head == BertHead::Pooler) {
    add_pooler(draft, stream);
  } else {
    add_pretraining_head(draft, stream);
  }
  return std::move(draft.net);
}

Architecture gpt(const std::string& name, const TransformerSize& size) {
  Draft draft = begin(name, "GPT", size);
  draft.net.source = "Radford et al., Language Models are Unsupervised Multitask Learners, OpenAI 2019";
  const OperatorId words = add_table(draft, "words", size.vocabulary);
  const OperatorId positions = add_table(draft, "positions", size.positions);
  const OperatorId sum = add_sum(draft, "sum", {words, positions});
  OperatorId stream = add_dropout(draft, "dropout", sum, draft.activations());
  for (std::int64_t block = 0; block < size.layers; ++block) stream = add_gpt_block(draft, block, stream);
  relabel(draft, "head");
  add_loss(draft, add_tied_decoder(draft, add_norm(draft, "norm", stream), false));
  return std::move(draft.net);
}

}  // namespace stagecraft
