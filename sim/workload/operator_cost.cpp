#include "sim/workload/operator_cost.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/product_time.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft {
namespace {

/// TensorFlow's default limit for what a convolution algorithm may allocate (TF_CUDNN_WORKSPACE_LIMIT_IN_MB).
constexpr Bytes kMostScratch{std::int64_t{1} << 32};
/// The backward of fused attention does five products where the forward does two: it computes the scores again.
constexpr double kAttentionBackward = 2.5;
constexpr double kWinogradWeightExpansion = 36.0 / 9.0;  ///< a 3x3 filter becomes 6x6 points

/// One operator's work for one microbatch, in bytes and operations.
struct Work {
  double input = 0;
  double output = 0;
  double parameters = 0;
  double parameter = 0;  ///< one
  double kept = 0;       ///< what the backward reads beside the gradient of the output
  Flops flops;
  FlopsPerSecond rate;
};

/// In fp8 the 8-bit products are those of a linear layer with its weights, but for the one that makes the logits.
bool is_in_8_bit(const Operator& op, Precision precision) {
  return precision == Precision::Fp8 && op.kind == OperatorKind::Linear && op.layer != "head";
}

double share_of_peak(const Operator& op, const DeviceDescription& device, Precision precision) {
  const Efficiency& efficiency = device.efficiency;
  switch (op.kind) {
    case OperatorKind::Convolution: return efficiency.convolution;
    case OperatorKind::Matmul: return efficiency.matmul;
    case OperatorKind::Attention: return efficiency.attention;
    default: return is_in_8_bit(op, precision) ? efficiency.linear8 : efficiency.linear;
  }
}

FlopsPerSecond reached_rate(const Operator& op, const DeviceDescription& device, Precision precision) {
  const FlopsPerSecond top = is_in_8_bit(op, precision) ? peak(device, precision) : wide_peak(device, precision);
  return FlopsPerSecond(top.value() * share_of_peak(op, device, precision));
}

Work work_of(const Operator& op, const DeviceDescription& device, Precision precision, std::int64_t microbatch_size) {
  const auto samples = static_cast<double>(microbatch_size);
  const double value = samples * static_cast<double>(value_bytes(precision));
  Work work;
  work.input = value * static_cast<double>(op.input_values);
  work.output = value * static_cast<double>(std::max(op.output_values, op.kernel.group.made_values));
  work.parameter = static_cast<double>(parameter_bytes(precision));
  work.parameters = work.parameter * static_cast<double>(op.parameters + op.tied.parameters);
  work.kept = samples * static_cast<double>(op.saved_bytes) + value * static_cast<double>(op.saved_values);
  if (op.kind != OperatorKind::Pooling && op.saves_input) work.kept += work.input;
  if (op.saves_output) work.kept += work.output;
  work.flops = Flops(2.0 * samples * static_cast<double>(op.macs - op.kernel.masked_macs));
  work.rate = reached_rate(op, device, precision);
  return work;
}

OperatorCost convolved_cost(const Work& work, const DeviceDescription& device) {
  const double traffic = work.input + work.parameters + work.output;
  const Seconds one = kernel_time(device, work.flops, work.rate, traffic);
  return {one, one, one, Bytes(0), 1, 2};
}

/// Of a product with weights; experts have one each, for their part of the rows.
ProductShape shape_of(const Operator& op, std::int64_t microbatch_size) {
  const auto input = static_cast<double>(op.input_values);
  const auto output = static_cast<double>(std::max(op.output_values, op.kernel.group.made_values));
  const auto macs = static_cast<double>(op.macs);
  ProductShape shape;
  if (op.macs == 0) return shape;
  shape.inner = macs / output;
  shape.columns = macs / input;
  if (op.kernel.experts.count > 0) shape.count = static_cast<double>(op.kernel.experts.count);
  shape.rows = input / shape.inner * static_cast<double>(microbatch_size) / shape.count;
  return shape;
}

/// An operand is read in 16 bit and written in 8 bit; the gradient of the output also in the other order, for the
/// gradient of the weights.
void add_conversions(OperatorCost& cost, const Work& work, const DeviceDescription& device) {
  const Seconds second(1.0 / (device.memory_bandwidth.value() * device.efficiency.memory));
  cost.forward += 1.5 * work.input * second;
  cost.backward_input += 2.0 * work.output * second;
}

OperatorCost linear_cost(const Operator& op, const Work& work, const DeviceDescription& device, Precision precision,
                         std::int64_t microbatch_size) {
  const double traffic = work.input + work.parameters + work.output;
  const double width = is_in_8_bit(op, precision) ? 1.0 : static_cast<double>(value_bytes(precision));
  const ProductShape shape = shape_of(op, microbatch_size);
  const ProductWork one{work.flops, work.rate, traffic, has_odd_rows(shape, width)};
  const auto time = [&](const ProductShape& of) { return product_time(device, of, one); };
  OperatorCost cost{time(shape), time(input_gradient(shape)), time(weight_gradient(shape)), Bytes(0), 1, 2};
  if (is_in_8_bit(op, precision)) add_conversions(cost, work, device);
  return cost;
}

/// The three kernels of F(4x4, 3x3), each waiting for the one before; both gradients have the same shape.
OperatorCost winograd_cost(const Work& work, double expansion, const DeviceDescription& device) {
  const double points_in = expansion * work.input;
  const double points_out = expansion * work.output;
  const double points_weight = kWinogradWeightExpansion * work.parameters;
  const Flops multiplied = work.flops * (expansion / 9.0);
  const FlopsPerSecond gemm_rate(work.rate.value() / device.efficiency.convolution * device.efficiency.linear);
  const Seconds transform_in = kernel_time(device, Flops(0), gemm_rate, work.input + points_in + points_weight);
  const Seconds multiply = kernel_time(device, multiplied, gemm_rate, points_in + points_weight + points_out);
  const Seconds transform_out = kernel_time(device, Flops(0), gemm_rate, points_out + work.output);
  const Seconds one = transform_in + multiply + transform_out;
  return {one, one, one, Bytes(std::llround(std::ceil(points_in + points_out + points_weight))), 3, 6};
}

OperatorCost convolution_cost(const Operator& op, const Work& work, const DeviceDescription& device,
                              Precision precision) {
  const OperatorCost direct = convolved_cost(work, device);
  if (precision != Precision::Fp32 || op.kernel.winograd_expansion <= 0) return direct;
  const OperatorCost winograd = winograd_cost(work, op.kernel.winograd_expansion, device);
  return winograd.scratch <= kMostScratch && winograd.forward < direct.forward ? winograd : direct;
}

/// Whether the matrices of each head have odd rows, as those of a product with weights may have.
bool has_odd_heads(const HeadProduct& head, Precision precision) {
  const ProductShape shape{.columns = static_cast<double>(head.columns), .inner = static_cast<double>(head.inner)};
  return has_odd_rows(shape, static_cast<double>(value_bytes(precision)));
}

/// Two products, one for each operand's gradient; neither is a weight.
OperatorCost matmul_cost(const Operator& op, const Work& work, const DeviceDescription& device, Precision precision) {
  Seconds one = kernel_time(device, work.flops, work.rate, work.input + work.output);
  if (has_odd_heads(op.kernel.head, precision)) one += device.tiling.odd_rows * (one - device.launch_overhead);
  return {one, 2.0 * one, Seconds(0), Bytes(0), 1, 2};
}

/// One kernel each way; the backward reads what was kept and the output's gradient, and writes those of the inputs.
OperatorCost attention_cost(const Work& work, const DeviceDescription& device, double statistics) {
  const Seconds forward = kernel_time(device, work.flops, work.rate, work.input + work.output + statistics);
  const Seconds backward =
      kernel_time(device, work.flops * kAttentionBackward, work.rate, work.kept + work.output + work.input);
  return {forward, backward, Seconds(0), Bytes(0)};
}

/// Rows are gathered; the gradient is a whole table, filled with zeros before rows are added to it.
OperatorCost embedding_cost(const Work& work, const DeviceDescription& device) {
  const Seconds gather = kernel_time(device, Flops(0), work.rate, work.input + work.output);
  const Seconds scatter = kernel_time(device, Flops(0), work.rate, work.parameters + work.input + work.output);
  return {gather, Seconds(0), scatter, Bytes(0)};
}

OperatorCost memory_bound_cost(const Work& work, const DeviceDescription& device) {
  const Seconds forward = kernel_time(device, Flops(0), work.rate, work.input + work.output);
  const Seconds backward = kernel_time(device, Flops(0), work.rate, work.output + work.kept + work.input);
  return {forward, backward, Seconds(0), Bytes(0)};
}

/// Both operators of a loss read the logits, so each takes half of what the loss moves for one.
OperatorCost loss_cost(const Operator& op, const Work& work, const DeviceDescription& device, double samples) {
  if (device.loss_traffic == 0) return memory_bound_cost(work, device);
  const double moved = device.loss_traffic / 2.0 * samples * static_cast<double>(op.input_values);
  return {kernel_time(device, Flops(0), work.rate, moved), kernel_time(device, Flops(0), work.rate, moved / 2.0),
          Seconds(0), Bytes(0)};
}

/// The time of one step, which reads its own parameters anew and its part of the sequence's tensors.
Seconds step_time(const Operator& op, const Work& work, const DeviceDescription& device, double samples) {
  const Flops flops(2.0 * samples * static_cast<double>(op.recurrence.macs));
  const double own = work.parameter * static_cast<double>(op.recurrence.parameters);
  return kernel_time(device, flops, work.rate,
                     own + (work.output + work.kept) / static_cast<double>(op.recurrence.steps));
}

/// The inputs of all steps in one product; then the steps, one kernel each. The backward walks the steps in reverse,
/// then forms the gradient of all inputs in one product and that of each weight matrix in one product over all steps.
OperatorCost recurrent_cost(const Operator& op, const Work& work, const DeviceDescription& device, double samples) {
  const auto steps = static_cast<double>(op.recurrence.steps);
  const Flops stepped(2.0 * samples * steps * static_cast<double>(op.recurrence.macs));
  const double step_weights = work.parameter * static_cast<double>(op.recurrence.parameters);
  const Seconds all_inputs =
      kernel_time(device, work.flops - stepped, work.rate, work.input + work.kept + (work.parameters - step_weights));
  const Seconds all_states = kernel_time(device, stepped, work.rate, work.output + work.kept + step_weights);
  const Seconds one_way = all_inputs + steps * step_time(op, work, device, samples);
  return {one_way, one_way, all_inputs + all_states, Bytes(0), 1 + steps, 3 + steps};
}

}  // namespace

OperatorCost operator_cost(const Operator& op, const DeviceDescription& device, Precision precision,
                           std::int64_t microbatch_size) {
  STAGECRAFT_CHECK(microbatch_size > 0, "a positive microbatch size");
  const Work work = work_of(op, device, precision, microbatch_size);
  OperatorCost cost;
  switch (op.kind) {
    case OperatorKind::Convolution: cost = convolution_cost(op, work, device, precision); break;
    case OperatorKind::Linear: cost = linear_cost(op, work, device, precision, microbatch_size); break;
    case OperatorKind::Matmul: cost = matmul_cost(op, work, device, precision); break;
    case OperatorKind::Attention:
      cost = attention_cost(work, device, static_cast<double>(microbatch_size * op.saved_bytes));
      break;
    case OperatorKind::Embedding: cost = embedding_cost(work, device); break;
    case OperatorKind::Recurrent: cost = recurrent_cost(op, work, device, static_cast<double>(microbatch_size)); break;
    case OperatorKind::Loss: cost = loss_cost(op, work, device, static_cast<double>(microbatch_size)); break;
    case OperatorKind::Pooling:
    case OperatorKind::Pointwise:
    case OperatorKind::Softmax:
    case OperatorKind::Normalization: cost = memory_bound_cost(work, device); break;
  }
  const bool at_network_input = std::ranges::all_of(op.inputs, [](OperatorId id) { return id.is_none(); });
  if (at_network_input || op.constant_input) cost.backward_input = Seconds(0);
  return cost;
}

}  // namespace stagecraft
