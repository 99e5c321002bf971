#include "sim/workload/architecture.hpp"

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

std::int64_t parameter_count(const Architecture& architecture) {
  std::int64_t sum = 0;
  for (const Operator& op : architecture.operators) sum += op.parameters;
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
