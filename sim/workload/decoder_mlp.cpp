#include "sim/workload/decoder_parts.hpp"

namespace stagecraft {
namespace {

constexpr std::int64_t kRoutingBytes = 4;  ///< of the probability of a token and expert, fp32

OperatorId add_wide_product(DecoderDraft& decoder, const std::string& name, OperatorId input, const DecoderMlp& mlp) {
  const Bias bias = decoder.size.form.mlp_bias ? Bias::With : Bias::Without;
  const Rows outer{mlp.inner.count, decoder.size.hidden};
  if (mlp.experts == 0) return add_entry_product(decoder.draft, name, input, outer, mlp.inner.width, bias);
  const OperatorId added = add_linear(decoder.draft, name, input, outer, mlp.inner.width, bias);
  decoder.draft.net.operators[added].parameters *= mlp.experts;
  return added;
}

OperatorId add_narrow_product(DecoderDraft& decoder, OperatorId input, const DecoderMlp& mlp) {
  const Bias bias = decoder.size.form.mlp_bias ? Bias::With : Bias::Without;
  const std::string name = mlp.prefix + "down";
  const std::int64_t to = decoder.size.hidden;
  if (mlp.experts == 0) return add_exit_product(decoder.draft, name, input, mlp.inner, to, bias, mlp.sum);
  const OperatorId added = add_linear(decoder.draft, name, input, mlp.inner, to, bias);
  decoder.draft.net.operators[added].parameters *= mlp.experts;
  return added;
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

/// Puts the tokens of each expert beside each other.
OperatorId add_dispatch(DecoderDraft& decoder, OperatorId normal, OperatorId routing) {
  Operator op;
  op.inputs = {normal, routing};
  op.input_values = decoder.rows().values();
  op.output_values = decoder.size.experts.active * op.input_values;
  return add_operator(decoder.draft, "dispatch", op);
}

/// The weighted sum of what its experts made of a token; the gradient of the weights needs it.
OperatorId add_combine(DecoderDraft& decoder, OperatorId made) {
  Operator op;
  op.inputs = {made};
  op.output_values = decoder.rows().values();
  op.input_values = decoder.size.experts.active * op.output_values;
  op.saves_input = true;
  const OperatorId combined = add_operator(decoder.draft, "combine", op);
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
  const Rows inner{experts.active * decoder.rows().count, experts.feed_forward};
  const OperatorId made = add_decoder_mlp(decoder, tokens, {"expert_", inner, experts.count});
  std::vector<OperatorId> terms = {add_combine(decoder, made)};
  if (experts.shared_feed_forward > 0) {
    const Rows wide{size.sequence, experts.shared_feed_forward};
    const OperatorId shared = add_decoder_mlp(decoder, normal, {"shared_", wide, 0, Sum::WithAnother});
    terms.push_back(experts.shared_gate ? add_shared_gate(decoder, normal, shared) : shared);
  }
  return terms;
}

}  // namespace stagecraft
