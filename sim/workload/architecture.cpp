#include "sim/workload/architecture.hpp"

#include "sim/base/error.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace stagecraft {

const char* to_string(Granularity granularity) {
  switch (granularity) {
    case Granularity::Operator: return "operator";
    case Granularity::Layer: return "layer";
    case Granularity::Residual: return "residual";
    case Granularity::Block: return "block";
  }
  return "";
}

std::optional<Granularity> granularity_of(std::string_view name) {
  for (const Granularity each :
       {Granularity::Operator, Granularity::Layer, Granularity::Residual, Granularity::Block}) {
    if (name == to_string(each)) return each;
  }
  return std::nullopt;
}

namespace {

/// Refuses what is said of no network of this kind; sizes are looked at by its division.
void require_kind(const Architecture& whole, const Degrees& degrees) {
  if (degrees.context > 1 && !whole.division.by_tokens) {
    throw InputError(fmt::format("{} cannot be divided into a context group of {} devices: context groups need fused "
                                 "attention as decoders have it",
                                 whole.name, degrees.context),
                     {}, "a decoder like llama3-8b, or a context group of 1");
  }
  const bool has_experts =
      std::ranges::any_of(whole.operators, [](const Operator& op) { return op.kernel.experts.count > 0; });
  if (degrees.expert > 1 && !has_experts) {
    throw InputError(fmt::format("{} cannot be divided into an expert group of {} devices: it has no experts",
                                 whole.name, degrees.expert),
                     {}, "a network with experts like mixtral-8x7b, or an expert group of 1");
  }
  if (!whole.division.member) {
    throw InputError(whole.name +
                         " cannot be divided into a tensor group: its layers are not those of a decoder, a GPT, " +
                         "a BERT or a ViT",
                     {}, "a group of one device has all of it");
  }
}

}  // namespace

Architecture member_of(const Architecture& whole, const Degrees& degrees) {
  STAGECRAFT_CHECK(degrees.tensor > 0 && degrees.vocabulary_multiple > 0, "degrees of at least 1");
  STAGECRAFT_CHECK(degrees.context > 0 && degrees.expert > 0, "degrees of at least 1");
  if (degrees.devices() == 1) return whole;
  require_kind(whole, degrees);
  Architecture part = whole.division.member(degrees);
  STAGECRAFT_CHECK(part.operators.size() == whole.operators.size(), "a member with the operators of the whole");
  part.name = whole.name;
  part.summary = whole.summary;
  part.source = whole.source;
  part.recomputes_attention = whole.recomputes_attention;
  for (const OperatorId id : indices(part.operators)) part.operators[id].tied.owner = whole.operators[id].tied.owner;
  return part;
}

Architecture with_selective_recompute(Architecture architecture) {
  architecture.recomputes_attention =
      std::ranges::any_of(architecture.operators, [](const Operator& op) { return op.kernel.core_attention; });
  return architecture;
}

bool is_recomputed(const Architecture& architecture, OperatorId id) {
  return architecture.recomputes_attention && architecture.operators[id].kernel.core_attention;
}

std::int64_t parameter_count(const Architecture& architecture) {
  std::int64_t sum = 0;
  for (const Operator& op : architecture.operators) sum += op.parameters;
  return sum;
}

std::int64_t active_parameter_count(const Architecture& architecture) {
  std::int64_t sum = 0;
  for (const Operator& op : architecture.operators) {
    const RoutedExperts& experts = op.kernel.experts;
    sum += experts.count == 0 ? op.parameters : op.parameters / experts.count * experts.active;
  }
  return sum;
}

std::int64_t tied_parameter_count(const Architecture& architecture) {
  std::int64_t sum = 0;
  for (const Operator& op : architecture.operators) sum += op.tied.parameters;
  return sum;
}

Flops forward_flops(const Architecture& architecture) {
  Flops sum;
  for (const Operator& op : architecture.operators) sum += Flops(2.0 * static_cast<double>(op.macs));
  return sum;
}

Flops masked_flops(const Architecture& architecture) {
  Flops sum;
  for (const Operator& op : architecture.operators) sum += Flops(2.0 * static_cast<double>(op.kernel.masked_macs));
  return sum;
}

}  // namespace stagecraft
