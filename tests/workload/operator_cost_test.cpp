#include "sim/workload/operator_cost.hpp"

#include "sim/base/error.hpp"
#include "sim/workload/catalogue.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace stagecraft;

namespace {

/// Round figures: 10 TFLOP/s, 1 TB/s, every efficiency 1/2, launches of 1 us.
DeviceDescription round_device() {
  DeviceDescription device;
  device.name = "round";
  device.fp32 = FlopsPerSecond(10e12);
  device.fp16 = FlopsPerSecond(100e12);
  device.memory_bandwidth = BytesPerSecond(1e12);
  device.launch_overhead = Seconds(1e-6);
  device.efficiency = {
      .convolution = 0.5, .linear = 0.5, .linear8 = 0.5, .matmul = 0.5, .attention = 0.5, .memory = 0.5};
  return device;
}

Operator linear(std::int64_t rows, std::int64_t from, std::int64_t to) {
  Operator op;
  op.kind = OperatorKind::Linear;
  op.inputs = {OperatorId(0)};
  op.input_values = rows * from;
  op.output_values = rows * to;
  op.macs = rows * from * to;
  op.parameters = from * to;
  op.saves_input = true;
  return op;
}

}  // namespace

// 1000 rows, 1000 x 1000: 2e9 operations at 5e12/s = 400 us; 3 x 4 MB at 5e11 B/s = 24 us. Arithmetic bound.
TEST_CASE("operator_cost: a large product is bound by arithmetic, each gradient as long as the forward") {
  const OperatorCost cost = operator_cost(linear(1000, 1000, 1000), round_device(), Precision::Fp32, 1);
  CHECK(cost.forward.value() == doctest::Approx(401e-6).epsilon(1e-12));
  CHECK(cost.backward_input == cost.forward);
  CHECK(cost.backward_weight == cost.forward);
  CHECK(cost.scratch == Bytes(0));
}

// One row of 1000 x 1000 at batch 2: 4e6 operations = 0.8 us; (2 x 4 kB + 4 MB + 2 x 4 kB) at 5e11 = 8.032 us.
TEST_CASE("operator_cost: a product of few rows is bound by reading its weights") {
  const OperatorCost cost = operator_cost(linear(1, 1000, 1000), round_device(), Precision::Fp32, 2);
  CHECK(cost.forward.value() == doctest::Approx(9.032e-6).epsilon(1e-12));
}

// The same at fp16: operations at 5e13/s, activations and parameters of two bytes.
TEST_CASE("operator_cost: half precision halves activations and parameters") {
  const OperatorCost cost = operator_cost(linear(1, 1000, 1000), round_device(), Precision::Fp16, 2);
  CHECK(cost.forward.value() == doctest::Approx(1e-6 + (2 * 2000 + 2e6 + 2 * 2000) / 5e11).epsilon(1e-12));
  CHECK_THROWS_WITH_AS(static_cast<void>(operator_cost(linear(1, 1, 1), round_device(), Precision::Tf32, 1)),
                       "device round gives no peak rate for tf32 (it has fp32, fp16)", InputError);
  CHECK_THROWS_WITH_AS(static_cast<void>(operator_cost(linear(1, 1, 1), round_device(), Precision::Bf16, 1)),
                       "device round gives no peak rate for bf16 (use fp16; it has fp32, fp16)", InputError);
}

// 2e9 operations at 1e14/s = 20 us in 8 bit, at 5e13/s = 40 us in 16 bit; 3 x 2 MB at 5e11 B/s = 12 us. The weights
// and activations are stored in 16 bit; 3 MB are moved to convert the input, 4 MB for the gradient of the output.
TEST_CASE("operator_cost: in fp8 products with weights run in 8 bit, those of the head and of activations in 16") {
  DeviceDescription device = round_device();
  device.fp8 = FlopsPerSecond(200e12);
  Operator op = linear(1000, 1000, 1000);
  const auto forward = [&] { return operator_cost(op, device, Precision::Fp8, 1).forward.value(); };
  CHECK(forward() == doctest::Approx(27e-6).epsilon(1e-12));
  const OperatorCost cost = operator_cost(op, device, Precision::Fp8, 1);
  CHECK(cost.backward_input.value() == doctest::Approx(29e-6).epsilon(1e-12));
  CHECK(cost.backward_weight.value() == doctest::Approx(21e-6).epsilon(1e-12));
  op.layer = "head";
  CHECK(forward() == doctest::Approx(41e-6).epsilon(1e-12));
  op.layer = "block0.attention";
  op.kind = OperatorKind::Matmul;
  CHECK(forward() == doctest::Approx(41e-6).epsilon(1e-12));
  op.kind = OperatorKind::Linear;
  device.fp16 = {};
  CHECK_THROWS_AS(static_cast<void>(forward()), InputError);  // no rate for what is left in 16 bit
  device.bf16 = FlopsPerSecond(100e12);
  CHECK(forward() == doctest::Approx(27e-6).epsilon(1e-12));
}

// A loss over 1e6 logits: 4 MB read twice, 4 MB written and 4 bytes: 24.000008 us at 5e11 B/s. With 10 bytes for each
// logit 20 us, of which each operator takes half; the backward half of it.
TEST_CASE("operator_cost: a loss moves what its tensors say, or what the device does for each logit") {
  Operator softmax;
  softmax.kind = OperatorKind::Loss;
  softmax.inputs = {OperatorId(0)};
  softmax.input_values = softmax.output_values = 1'000'000;
  Operator loss = softmax;
  loss.output_values = 1;
  DeviceDescription device = round_device();
  const auto forward = [&] {
    return (operator_cost(softmax, device, Precision::Fp32, 1).forward +
            operator_cost(loss, device, Precision::Fp32, 1).forward)
        .value();
  };
  CHECK(forward() == doctest::Approx(24.000008e-6 + 2e-6).epsilon(1e-9));
  device.loss_traffic = 10;
  CHECK(forward() == doctest::Approx(20e-6 + 2e-6).epsilon(1e-9));
  const OperatorCost half = operator_cost(softmax, device, Precision::Fp32, 2);
  CHECK(half.forward.value() == doctest::Approx(20e-6 + 1e-6).epsilon(1e-9));
  CHECK(half.backward_input.value() == doctest::Approx(10e-6 + 1e-6).epsilon(1e-9));
}

// ReLU of 1e6 values: 8 MB forward = 16 us; backward reads gradient and kept output, writes: 12 MB = 24 us.
TEST_CASE("operator_cost: a pointwise operator is bound by memory") {
  Operator relu;
  relu.inputs = {OperatorId(0)};
  relu.input_values = relu.output_values = 1'000'000;
  relu.saves_output = true;
  const OperatorCost cost = operator_cost(relu, round_device(), Precision::Fp32, 1);
  CHECK(cost.forward.value() == doctest::Approx(17e-6).epsilon(1e-12));
  CHECK(cost.backward_input.value() == doctest::Approx(25e-6).epsilon(1e-12));
  CHECK(cost.backward_weight == Seconds(0));
}

// 64 channels of 8x8 to 64: 2 x 9 x 64 x 64 x 64 = 4.718592e6 operations per sample, 1000 samples;
// direct: 4.718592e9 / 5e12 = 943.7184 us. Winograd: a tile of 6x6 for 4x4 outputs: 2.25 points for each pixel.
// input = output = 16.384 MB, weights 36928 x 4 B = 147712 B, transformed 590848 B.
// transform in: (16.384 + 36.864 + 0.590848) MB / 5e11 = 107.677696 us; multiply: a quarter, 235.9296 us, against
// (36.864 x 2 + 0.590848) MB = 148.637696 us; transform out: 53.248 MB = 106.496 us. Sum 450.103296 us and 3 launches.
TEST_CASE("operator_cost: a 3x3 convolution in fp32 takes Winograd where it is faster") {
  Operator conv;
  conv.kind = OperatorKind::Convolution;
  conv.inputs = {OperatorId(0)};
  conv.input_values = conv.output_values = std::int64_t{64} * 8 * 8;
  conv.macs = std::int64_t{9} * 64 * 64 * 64;
  conv.parameters = 9 * 64 * 64 + 64;
  conv.kernel.winograd_expansion = 2.25;
  const OperatorCost fast = operator_cost(conv, round_device(), Precision::Fp32, 1000);
  CHECK(fast.forward.value() == doctest::Approx(450.103296e-6 + 3e-6).epsilon(1e-9));
  CHECK(fast.scratch == Bytes(2 * 36'864'000 + 590'848));
  conv.kernel.winograd_expansion = 0;
  const OperatorCost direct = operator_cost(conv, round_device(), Precision::Fp32, 1000);
  CHECK(direct.forward.value() == doctest::Approx(943.7184e-6 + 1e-6).epsilon(1e-9));
  conv.kernel.winograd_expansion = 2.25;
  const OperatorCost tensor_cores = operator_cost(conv, round_device(), Precision::Fp16, 1000);
  CHECK(tensor_cores.scratch == Bytes(0));
  // 58,246 samples are transformed into 4,294,951,936 B; one more exceeds 4 GiB
  CHECK(operator_cost(conv, round_device(), Precision::Fp32, 58'246).scratch == Bytes(4'294'951'936));
  CHECK(operator_cost(conv, round_device(), Precision::Fp32, 58'247).scratch == Bytes(0));
}

// An LSTM of 10 steps, 500 values to 500, batch 4: all inputs in one product of 10 x 4 x 500 x 2000 MACs = 8e7
// operations at 5e12/s = 16 us, against (80 kB input + 400 kB kept + 4 MB + 16 kB of biases) at 5e11 B/s = 8.992 us: 17
// us with its launch. A step does 4 x 500 x 2000 MACs = 8e6 operations, 1.6 us, but reads 4 MB of weights and a tenth
// of 80 kB of output and 400 kB kept: 4.048 MB, 8.096 us: 9.096 us with its launch. The gradient of the recurrent
// weights: 8e7 operations, 16 us, and a launch.
TEST_CASE("operator_cost: an LSTM is one product for all inputs and one small product for each step") {
  Operator lstm;
  lstm.kind = OperatorKind::Recurrent;
  lstm.inputs = {OperatorId(0)};
  lstm.input_values = lstm.output_values = 5'000;
  lstm.recurrence.steps = 10;
  lstm.recurrence.macs = lstm.recurrence.parameters = 1'000'000;
  lstm.macs = 20 * lstm.recurrence.macs;
  lstm.parameters = 2 * lstm.recurrence.parameters + 4'000;
  lstm.saved_values = 5 * lstm.output_values;
  const OperatorCost cost = operator_cost(lstm, round_device(), Precision::Fp32, 4);
  CHECK(cost.forward.value() == doctest::Approx(17e-6 + 10 * 9.096e-6).epsilon(1e-9));
  CHECK(cost.backward_input == cost.forward);
  CHECK(cost.backward_weight.value() == doctest::Approx(2 * 17e-6).epsilon(1e-9));
  lstm.constant_input = true;
  CHECK(operator_cost(lstm, round_device(), Precision::Fp32, 4).backward_input == Seconds(0));
}

// 2e9 operations at 5e13/s = 40 us; 6e6 bytes at 5e11 B/s = 12 us. A head of 150 values has rows of 300 bytes,
// 1001 keys rows of 2002: half of the time comes on top, but of no launch.
TEST_CASE("operator_cost: products of an attention take longer where a head or the keys make odd rows") {
  DeviceDescription device = round_device();
  device.tiling = {.processors = 10, .odd_rows = 0.5};
  const auto forward = [&](const HeadProduct& head, Precision precision = Precision::Fp16) {
    Operator product;
    product.kind = OperatorKind::Matmul;
    product.inputs = {OperatorId(0)};
    product.input_values = 2'000'000;
    product.output_values = 1'000'000;
    product.macs = 1'000'000'000;
    product.kernel.head = head;
    const OperatorCost cost = operator_cost(product, device, precision, 1);
    CHECK(cost.backward_input == 2.0 * cost.forward);
    return cost.forward.value();
  };
  CHECK(forward({}) == doctest::Approx(41e-6).epsilon(1e-12));
  CHECK(forward({.inner = 144, .columns = 1024}) == doctest::Approx(41e-6).epsilon(1e-12));
  CHECK(forward({.inner = 150, .columns = 1024}) == doctest::Approx(61e-6).epsilon(1e-12));
  CHECK(forward({.inner = 1024, .columns = 150}) == doctest::Approx(61e-6).epsilon(1e-12));
  CHECK(forward({.inner = 144, .columns = 1001}) == doctest::Approx(61e-6).epsilon(1e-12));
  CHECK(forward({.inner = 148, .columns = 1024}, Precision::Fp32) == doctest::Approx(401e-6).epsilon(1e-12));
}

// Attention of 1e9 multiply-adds of which a mask hides 4e8: 1.2e9 operations at 5e12/s = 240 us, against 4 x (1.5e6 +
// 0.5e6) + 1000 bytes at 5e11 B/s = 16.002 us. The backward has 3e9 operations: 600 us. With a hundredth of the
// products memory bounds both: the backward reads inputs, output, statistics and gradient, and writes the gradients of
// the inputs: 4 x (1.5e6 + 0.5e6 + 0.5e6 + 1.5e6) + 1000 bytes = 32.002 us.
TEST_CASE("operator_cost: fused attention leaves out what a mask hides and computes the scores again in the backward") {
  Operator attention;
  attention.kind = OperatorKind::Attention;
  attention.inputs = {OperatorId(0)};
  attention.input_values = 1'500'000;
  attention.output_values = 500'000;
  attention.macs = 1'000'000'000;
  attention.kernel.masked_macs = 400'000'000;
  attention.saves_input = attention.saves_output = true;
  attention.saved_bytes = 1000;
  const OperatorCost large = operator_cost(attention, round_device(), Precision::Fp32, 1);
  CHECK(large.forward.value() == doctest::Approx(241e-6).epsilon(1e-12));
  CHECK(large.backward_input.value() == doctest::Approx(601e-6).epsilon(1e-12));
  CHECK(large.backward_weight == Seconds(0));
  attention.macs /= 100;
  attention.kernel.masked_macs /= 100;
  const OperatorCost small = operator_cost(attention, round_device(), Precision::Fp32, 1);
  CHECK(small.forward.value() == doctest::Approx(17.002e-6).epsilon(1e-12));
  CHECK(small.backward_input.value() == doctest::Approx(33.002e-6).epsilon(1e-12));
}

TEST_CASE("operator_cost: an operator at the network's input has no input gradient") {
  Operator op = linear(10, 10, 10);
  op.inputs = {OperatorId::none()};
  const OperatorCost cost = operator_cost(op, round_device(), Precision::Fp32, 1);
  CHECK(cost.backward_input == Seconds(0));
  CHECK(cost.backward_weight > Seconds(0));
}

TEST_CASE("operator_cost: every known device can run its own precision") {
  for (const WorkloadInfo& info : known_devices()) {
    const auto device = find_device(info.name);
    REQUIRE(device.has_value());
    CHECK(peak(*device, device->precision).value() > 0);
    CHECK(device->memory > Bytes(0));
  }
  CHECK_FALSE(find_device("V100").has_value());
}

// The data sheets and white papers that docs/reference/workloads.md names; rates that a table rounds are cores x 2 x
// clock: 4352 x 2 x 1.545 GHz = 13.45e12, 3584 x 2 x 1.582 GHz = 11.34e12. Without sparsity a tensor core of the H200
// does half of the 989 and 1,979 TFLOPS its data sheet prints.
TEST_CASE("operator_cost: the known devices have their published figures") {
  const auto rate = [](const char* name, Precision precision) { return peak(find_device(name).value(), precision); };
  CHECK(rate("H100-SXM5-80GB", Precision::Tf32) == FlopsPerSecond(494.7e12));
  CHECK(rate("H200-SXM-141GB", Precision::Fp16).value() == doctest::Approx(1979e12 / 2).epsilon(1e-12));
  CHECK(rate("H200-SXM-141GB", Precision::Tf32).value() == doctest::Approx(989e12 / 2).epsilon(1e-12));
  CHECK(rate("RTX-2080-Ti", Precision::Fp32).value() == doctest::Approx(4352 * 2 * 1.545e9).epsilon(1e-3));
  CHECK(rate("GTX-1080-Ti", Precision::Fp32).value() == doctest::Approx(3584 * 2 * 1.582e9).epsilon(1e-3));
  CHECK_THROWS_AS(static_cast<void>(rate("GTX-1080-Ti", Precision::Fp16)), InputError);
  CHECK_THROWS_AS(static_cast<void>(rate("RTX-2080-Ti", Precision::Tf32)), InputError);
  CHECK(rate("H100-SXM5-80GB", Precision::Fp8) == FlopsPerSecond(1978.9e12));
  CHECK(rate("H200-SXM-141GB", Precision::Fp8).value() == doctest::Approx(3958e12 / 2).epsilon(1e-12));
  for (const char* name : {"A100-SXM4-40GB", "A100-SXM4-80GB", "H100-SXM5-80GB", "H200-SXM-141GB"}) {
    CHECK(rate(name, Precision::Bf16) == rate(name, Precision::Fp16));
  }
  for (const char* name : {"V100-SXM2-16GB", "V100-SXM2-32GB", "RTX-2080-Ti"}) {
    CHECK(precisions_of(find_device(name).value()) == std::vector{Precision::Fp32, Precision::Fp16});
    CHECK_THROWS_AS(static_cast<void>(find_device(name, Precision::Bf16)), InputError);
  }
  CHECK_THROWS_AS(static_cast<void>(rate("A100-SXM4-80GB", Precision::Fp8)), InputError);
  CHECK(find_device("A100-SXM4-80GB")->memory_bandwidth == BytesPerSecond(2039e9));
  CHECK(find_device("V100-SXM2-32GB")->memory == Bytes(std::int64_t{32} << 30));
}
