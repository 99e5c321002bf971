#include "sim/workload/decoder_parts.hpp"

namespace stagecraft {
namespace {

constexpr std::int64_t kRoutingBytes = 4;  ///< of the probability of a token and expert, fp32

/// A product with the weights of `copies` experts.
struct MlpProduct {
  Rows from;
  std::int64_t to = 0;
  std::int64_t copies = 1;
};

OperatorId add_mlp_product(DecoderDraft& decoder, const std::string& name, OperatorId input,
                           const MlpProduct& product) {
  const Bias bias = decoder.size.form.mlp_bias ? Bias::With : Bias::Without;
  const OperatorId added = add_linear(decoder.draft, name, input, product.from, product.to, bias);
  decoder.draft.net.operators[added].parameters *= product.copies;
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
  const OperatorId router = add_linear(decoder.draft, "router", normal, decoder.rows(), size.experts.count, bias);
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
  return add_operator(decoder.draft, "combine", op);
}

/// What the shared experts made of a token times a weight of its own; the gradients need both.
OperatorId add_shared_gate(DecoderDraft& decoder, OperatorId normal, OperatorId made) {
  const OperatorId weight = add_linear(decoder.draft, "shared_gate", normal, decoder.rows(), 1, Bias::Without);
  Operator op;
  op.inputs = {made, weight};
  op.output_values = decoder.rows().values();
  op.input_values = op.output_values + decoder.size.sequence;
  op.saves_input = true;
  return add_operator(decoder.draft, "shared_scale", op);
}

}  // namespace

OperatorId add_decoder_mlp(DecoderDraft& decoder, const std::string& prefix, OperatorId input, Rows inner,
                           std::int64_t copies) {
  const Rows outer{inner.count, decoder.size.hidden};
  std::vector<OperatorId> wide;
  if (decoder.size.form.gated)
    wide.push_back(add_mlp_product(decoder, prefix + "gate", input, {outer, inner.width, copies}));
  wide.push_back(add_mlp_product(decoder, prefix + "up", input, {outer, inner.width, copies}));
  const OperatorId active = add_activation(decoder, prefix + "activation", wide, inner.values());
  return add_mlp_product(decoder, prefix + "down", active, {inner, outer.width, copies});
}

std::vector<OperatorId> add_decoder_experts(DecoderDraft& decoder, OperatorId normal) {
  const DecoderSize& size = decoder.size;
  const ExpertSize& experts = size.experts;
  const OperatorId tokens = add_dispatch(decoder, normal, add_routing(decoder, normal));
  const Rows inner{experts.active * size.sequence, experts.feed_forward};
  const OperatorId made = add_decoder_mlp(decoder, "expert_", tokens, inner, experts.count);
  std::vector<OperatorId> terms = {add_combine(decoder, made)};
  if (experts.shared_feed_forward > 0) {
    const OperatorId shared = add_decoder_mlp(decoder, "shared_", normal, {size.sequence, experts.shared_feed_forward});
    terms.push_back(experts.shared_gate ? add_shared_gate(decoder, normal, shared) : shared);
  }
  return terms;
}

}  // namespace stagecraft
