#include "sim/workload/decoder_parts.hpp"

#include <cmath>

namespace stagecraft {
namespace {

constexpr std::int64_t kRoutingBytes = 4;  ///< of the probability of a token and expert, fp32

/// The parameters of a product are there once for each expert.
OperatorId repeated(DecoderDraft& decoder, OperatorId product, std::int64_t experts) {
  Operator& op = decoder.draft.net.operators[product];
  op.parameters *= experts;
  op.kernel.experts = {experts, decoder.size.experts.active};
  return product;
}

/// Vectors that a member puts together for experts, one for each of its tokens and the experts that it visits.
Rows sent_rows(const DecoderDraft& decoder) {
  return {decoder.size.experts.active * decoder.rows().count, decoder.size.hidden};
}

/// Those that its own experts get: as many, or if an expert group is not balanced what the busiest member gets.
Rows received_rows(const DecoderDraft& decoder) {
  constexpr double kRoundingError = 1e-12;
  const Rows sent = sent_rows(decoder);
  const Degrees& degrees = decoder.draft.degrees;
  if (degrees.expert == 1) return sent;
  const double most = degrees.imbalance * static_cast<double>(sent.count);
  return {std::llround(std::ceil(most * (1.0 - kRoundingError))), sent.width};
}

/// Each member of an expert group gets the vectors of its experts from all, or gives back what it made of them; the
/// gradients go the other way. It has its own and the others' vectors at the same time.
void exchange_vectors(DecoderDraft& decoder, OperatorId id) {
  if (decoder.draft.degrees.expert == 1) return;
  for (const bool backward : {false, true}) {
    add_exchange_of(decoder.draft, id,
                    {.kind = Exchange::Kind::AllToAll,
                     .backward = backward,
                     .values = received_rows(decoder).values(),
                     .among = Exchange::Among::Expert});
  }
  GroupPart& part = decoder.draft.net.operators[id].kernel.group;
  part.gathered_values = part.gathered_part = sent_rows(decoder).values();
}

OperatorId add_wide_product(DecoderDraft& decoder, const std::string& name, OperatorId input, const DecoderMlp& mlp) {
  const Bias bias = decoder.size.form.mlp_bias ? Bias::With : Bias::Without;
  const Rows outer{mlp.inner.count, decoder.size.hidden};
  if (mlp.experts == 0) return add_entry_product(decoder.draft, name, input, outer, mlp.inner.width, bias);
  const OperatorId added = add_linear(decoder.draft, name, input, outer, mlp.inner.width, bias);
  return repeated(decoder, added, mlp.experts);
}

OperatorId add_narrow_product(DecoderDraft& decoder, OperatorId input, const DecoderMlp& mlp) {
  const Bias bias = decoder.size.form.mlp_bias ? Bias::With : Bias::Without;
  const std::string name = mlp.prefix + "down";
  const std::int64_t to = decoder.size.hidden;
  if (mlp.experts == 0) return add_exit_product(decoder.draft, name, input, mlp.inner, to, bias, mlp.sum);
  const OperatorId added = add_linear(decoder.draft, name, input, mlp.inner, to, bias);
  return repeated(decoder, added, mlp.experts);
}

/// The activation; of a gated MLP times the other half, one kernel.
OperatorId add_activation(DecoderDraft& decoder, const std::string& name, std::vector<OperatorId> inputs,
                          std::int64_t values) {
  const OperatorId added = add_sum(decoder.draft, name, std::move(inputs), values);
  Operator& op = decoder.draft.net.operators[added];
  const bool from_output = decoder.size.form.activation == DecoderActivation::Relu && !decoder.size.form.gated;
  op.saves_input = !from_output;
  op.saves_output = from_output;
  return added;
}

/// The probabilities of the experts; the visited ones and their weights.
OperatorId add_routing(DecoderDraft& decoder, OperatorId normal) {
  const DecoderSize& size = decoder.size;
  const Bias bias = size.experts.router_bias ? Bias::With : Bias::Without;
  const OperatorId router =
      add_entry_product(decoder.draft, "router", normal, decoder.all_rows(), size.experts.count, bias);
  Operator op;
  op.kind = OperatorKind::Softmax;
  op.inputs = {router};
  op.input_values = size.sequence * size.experts.count;
  op.output_values = size.sequence * size.experts.active;
  op.saved_bytes = kRoutingBytes * op.input_values;
  return add_operator(decoder.draft, "routing", op);
}

/// Puts the tokens of each expert beside each other, on the member that has it.
OperatorId add_dispatch(DecoderDraft& decoder, OperatorId normal, OperatorId routing) {
  Operator op;
  op.inputs = {normal, routing};
  op.input_values = decoder.rows().values();
  op.output_values = received_rows(decoder).values();
  const OperatorId dispatched = add_operator(decoder.draft, "dispatch", op);
  exchange_vectors(decoder, dispatched);
  return dispatched;
}

/// The weighted sum of what its experts made of a token; the gradient of the weights needs it. Routed experts are
/// whole: each member of a tensor group has the sum over all of them for its tokens, which without sequence parallelism
/// are all tokens, so only what shared experts made of a token is still to be added up. Yet the exchange is there in
/// each block, with any expert group: every half of a block is left by one.
OperatorId add_combine(DecoderDraft& decoder, OperatorId made) {
  Operator op;
  op.inputs = {made};
  op.output_values = decoder.rows().values();
  op.input_values = sent_rows(decoder).values();
  op.saves_input = true;
  const OperatorId combined = add_operator(decoder.draft, "combine", op);
  exchange_vectors(decoder, combined);
  exchange_sum(decoder.draft, combined, decoder.all_rows());
  return combined;
}

/// What the shared experts made of a token times a weight of its own; the gradients need both.
OperatorId add_shared_gate(DecoderDraft& decoder, OperatorId normal, OperatorId made) {
  const OperatorId weight = add_linear(decoder.draft, "shared_gate", normal, decoder.rows(), 1, Bias::Without);
  Operator op;
  op.inputs = {made, weight};
  op.output_values = decoder.rows().values();
  op.input_values = op.output_values + decoder.rows().count;
  op.saves_input = true;
  return add_operator(decoder.draft, "shared_scale", op);
}

}  // namespace

OperatorId add_decoder_mlp(DecoderDraft& decoder, OperatorId input, const DecoderMlp& mlp) {
  std::vector<OperatorId> wide;
  if (decoder.size.form.gated) wide.push_back(add_wide_product(decoder, mlp.prefix + "gate", input, mlp));
  wide.push_back(add_wide_product(decoder, mlp.prefix + "up", input, mlp));
  const OperatorId active = add_activation(decoder, mlp.prefix + "activation", wide, mlp.inner.values());
  return add_narrow_product(decoder, active, mlp);
}

std::vector<OperatorId> add_decoder_experts(DecoderDraft& decoder, OperatorId normal) {
  const DecoderSize& size = decoder.size;
  const ExpertSize& experts = size.experts;
  const OperatorId tokens = add_dispatch(decoder, normal, add_routing(decoder, normal));
  const Rows inner{received_rows(decoder).count, experts.feed_forward};
  const std::int64_t own = experts.count / decoder.draft.degrees.expert;
  const OperatorId made = add_decoder_mlp(decoder, tokens, {"expert_", inner, own});
  std::vector<OperatorId> terms = {add_combine(decoder, made)};
  if (experts.shared_feed_forward > 0) {
    const Rows wide{size.sequence, experts.shared_feed_forward};
    const OperatorId shared = add_decoder_mlp(decoder, normal, {"shared_", wide, 0, Sum::WithAnother});
    terms.push_back(experts.shared_gate ? add_shared_gate(decoder, normal, shared) : shared);
  }
  return terms;
}

}  // namespace stagecraft
