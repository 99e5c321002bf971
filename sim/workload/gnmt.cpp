#include "sim/workload/gnmt.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/draft.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kGates = 4;  ///< input, forget, cell, output
constexpr std::int64_t kGateBiases = 2 * kGates;
constexpr std::int64_t kKeptPerState = kGates + 1;  ///< the gates and the cell

/// An LSTM over the whole sequence. A bidirectional one goes through it twice, with as many weights again.
OperatorId add_lstm(Draft& draft, OperatorId input, Rows from, std::int64_t to, std::int64_t directions) {
  Operator op;
  op.kind = OperatorKind::Recurrent;
  op.inputs = {input};
  op.input_values = from.values();
  op.output_values = directions * from.count * to;
  op.recurrence.steps = directions * from.count;
  op.recurrence.parameters = op.recurrence.macs = kGates * to * to;
  op.macs = op.recurrence.steps * (kGates * from.width * to + op.recurrence.macs);
  op.parameters = directions * (kGates * (from.width + to) + kGateBiases) * to;
  op.saves_input = op.saves_output = true;
  op.saved_values = kKeptPerState * op.output_values;
  return add_operator(draft, "lstm", op);
}

OperatorId add_concat(Draft& draft, OperatorId a, OperatorId b, std::int64_t values_of_each) {
  Operator op;
  op.inputs = {a, b};
  op.input_values = op.output_values = 2 * values_of_each;
  return add_operator(draft, "concat", op);
}

/// Weights of source positions for each target position: v . tanh(query + key + b), where |v| is a parameter too.
OperatorId add_energies(Draft& draft, OperatorId queries, OperatorId keys, Rows source, Rows target) {
  const std::int64_t pairs = source.count * target.count;
  Operator energy;
  energy.inputs = {queries, keys};
  energy.input_values = source.values() + target.values();
  energy.output_values = pairs * source.width;
  energy.parameters = source.width;
  energy.saves_output = true;
  const OperatorId sums = add_operator(draft, "energy", energy);
  Operator alignment;
  alignment.kind = OperatorKind::Linear;
  alignment.inputs = {sums};
  alignment.input_values = alignment.macs = pairs * source.width;
  alignment.output_values = pairs;
  alignment.parameters = source.width + 1;
  alignment.saves_input = true;
  return add_operator(draft, "alignment", alignment);
}

/// The context of each target position: `memory` weighted.
OperatorId add_bahdanau(Draft& draft, OperatorId stream, OperatorId memory, Rows source, Rows target) {
  const std::int64_t pairs = source.count * target.count;
  const OperatorId queries = add_linear(draft, "query", stream, target, target.width, Bias::Without);
  const OperatorId keys = add_linear(draft, "key", memory, source, source.width, Bias::Without);
  Operator mask;
  mask.inputs = {add_energies(draft, queries, keys, source, target)};
  mask.input_values = mask.output_values = pairs;
  Operator softmax = mask;
  softmax.kind = OperatorKind::Softmax;
  softmax.inputs = {add_operator(draft, "mask", mask)};
  softmax.saves_output = true;
  Operator context;
  context.kind = OperatorKind::Matmul;
  context.inputs = {add_operator(draft, "softmax", softmax), memory};
  context.input_values = pairs + source.values();
  context.output_values = target.values();
  context.macs = pairs * source.width;
  context.saves_input = true;
  return add_operator(draft, "context", context);
}

/// Layers from the third on have equal figures.
DraftLabel lstm_label(const std::string& side, std::int64_t layer) {
  const std::string name = side + ".lstm" + std::to_string(layer);
  const std::string type = layer >= 2 ? side + ".lstm" : "";
  return {name, type, name, type};
}

OperatorId add_encoder(Draft& draft, OperatorId stream, Rows rows, std::int64_t layers) {
  const Rows both{rows.count, 2 * rows.width};
  draft.label = lstm_label("encoder", 0);
  stream = add_lstm(draft, add_dropout(draft, "dropout", stream, rows.values()), rows, rows.width, 2);
  draft.label = lstm_label("encoder", 1);
  stream = add_lstm(draft, add_dropout(draft, "dropout", stream, both.values()), both, rows.width, 1);
  for (std::int64_t layer = 2; layer < layers; ++layer) {
    draft.label = lstm_label("encoder", layer);
    const OperatorId dropped = add_dropout(draft, "dropout", stream, rows.values());
    const OperatorId next = add_lstm(draft, dropped, rows, rows.width, 1);
    stream = add_stream_sum(draft, "residual", {next, stream}, rows.values());
  }
  return stream;
}

OperatorId add_decoder(Draft& draft, OperatorId stream, OperatorId memory, const GnmtSize& size) {
  const Rows source{size.sequence, size.hidden};
  const Rows target{size.target_sequence, size.hidden};
  const Rows both{target.count, 2 * target.width};
  draft.label = lstm_label("decoder", 0);
  stream = add_lstm(draft, add_dropout(draft, "dropout", stream, target.values()), target, target.width, 1);
  draft.label.layer = "decoder.attention";
  const OperatorId context = add_bahdanau(draft, stream, memory, source, target);
  for (std::int64_t layer = 1; layer < size.layers; ++layer) {
    draft.label = lstm_label("decoder", layer);
    const OperatorId dropped = add_dropout(draft, "dropout", stream, target.values());
    const OperatorId next =
        add_lstm(draft, add_concat(draft, dropped, context, target.values()), both, target.width, 1);
    stream = layer == 1 ? next : add_stream_sum(draft, "residual", {next, stream}, target.values());
  }
  return stream;
}

void require_sound(const GnmtSize& size) {
  const bool enough =
      size.layers >= 2 && size.hidden > 0 && size.sequence > 0 && size.target_sequence > 0 && size.vocabulary > 0;
  if (!enough) throw InputError("a GNMT needs at least 2 layers on either side, and every size must be at least 1");
  constexpr GnmtSize kMost = largest_gnmt();
  const bool countable = size.layers <= kMost.layers && size.hidden <= kMost.hidden &&
                         size.sequence <= kMost.sequence && size.target_sequence <= kMost.target_sequence &&
                         size.vocabulary <= kMost.vocabulary;
  if (!countable) throw InputError("a size is larger than supported for a GNMT");
}

GnmtSize completed(GnmtSize size) {
  if (size.target_sequence == 0) size.target_sequence = size.sequence;
  require_sound(size);
  return size;
}

}  // namespace

Architecture gnmt(const std::string& name, const GnmtSize& size) {
  const GnmtSize whole = completed(size);
  const Rows source{whole.sequence, whole.hidden};
  const Rows target{whole.target_sequence, whole.hidden};
  Draft draft;
  draft.net.name = name;
  draft.net.summary = fmt::format("GNMT, {} encoder and as many decoder layers, hidden {}, sequence {} to {}",
                                  whole.layers, whole.hidden, whole.sequence, whole.target_sequence);
  draft.net.source =
      "Wu et al., Google's Neural Machine Translation System, 2016, arXiv:1609.08144, as NVIDIA's GNMT v2";
  draft.net.input_bytes = kTokenBytes * std::max(whole.sequence, whole.target_sequence);
  draft.net.tokens = whole.sequence;
  draft.label = single_label("encoder.embedding");
  const OperatorId words = add_table(draft, "words", whole.vocabulary, source);
  const OperatorId memory = add_encoder(draft, words, source, whole.layers);
  draft.label = single_label("decoder.embedding");
  const OperatorId owner = whole.shared_embedding ? words : OperatorId::none();
  const OperatorId before = add_table(draft, "words", whole.vocabulary, target, owner);
  const OperatorId stream = add_decoder(draft, before, memory, whole);
  draft.label = single_label("head");
  const OperatorId logits = add_linear(draft, "classifier", stream, target, whole.vocabulary);
  add_loss(draft, logits, whole.target_sequence, whole.vocabulary);
  return std::move(draft.net);
}

}  // namespace stagecraft
