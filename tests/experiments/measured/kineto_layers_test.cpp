// How the kernels of a trace are divided among its layers.
#include "experiments/measured/kineto_layers.hpp"

#include "experiments/measured/kineto_executions.hpp"
#include "experiments/measured/kineto_scopes.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/measured/kineto_text.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace stagecraft::kineto_layers_test {
namespace {

using test::KinetoText;

constexpr int kMain = 1;
constexpr int kAutograd = 2;

KernelSum left_out(const KinetoProfile& profile, NoLayer reason) {
  return profile.unattributed[static_cast<std::size_t>(reason)];
}

/// A pass of two modules in a third one that adds, and its backward. Correlations count from `first`.
void add_pass(KinetoText& text, double at, int first, int sequence) {
  text.module("Net_0", kMain, at, 100).module("Linear_0", kMain, at + 5, 20).module("ReLU_0", kMain, at + 30, 20);
  const std::string shapes = R"(,"Input Dims":[[8,4],[6,4],[6]],"Input type":["float","float","float"])";
  text.op("aten::linear", kMain, at + 6, 10, sequence, 0, shapes).call(kMain, at + 8, first);
  text.op("aten::relu", kMain, at + 31, 10, sequence + 1, 0, R"(,"Input Dims":[[8,6]],"Input type":["float"])");
  text.call(kMain, at + 33, first + 1);
  text.op("aten::add", kMain, at + 60, 10, sequence + 2).call(kMain, at + 61, first + 2);
  text.scope("cpu_op", "autograd::engine::evaluate_function: AddBackward0", kAutograd, at + 120, 9);
  text.op("AddBackward0", kAutograd, at + 121, 7, sequence + 2, 1).call(kAutograd, at + 122, first + 3);
  text.op("ReluBackward0", kAutograd, at + 131, 7, sequence + 1, 1).call(kAutograd, at + 132, first + 4);
  text.op("AddmmBackward0", kAutograd, at + 141, 7, sequence, 1);
  text.scope("cpu_op", "aten::mm", kAutograd, at + 142, 4).call(kAutograd, at + 143, first + 5);
  text.call(kAutograd, at + 144, first + 6);
  text.scope("cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", kAutograd, at + 150, 5);
  text.call(kAutograd, at + 151, first + 7);
  for (int i = 0; i < 8; ++i) text.kernel("k", at + 10 + 20 * i, 1 << i, first + i);
}

TEST_CASE("kineto layers: modules get what they launch, and the backward of their operators") {
  KinetoText text;
  add_pass(text, 1000, 10, 5);
  text.scope("user_annotation", "Optimizer.step#SGD.step", kMain, 1200, 50).call(kMain, 1201, 30);
  text.kernel("update", 1300, 256, 30)
      .kernel("ncclDevKernel_AllReduce_Sum(a)", 1600, 512, 31)
      .kernel("graph", 3000, 1024, 99);
  text.call(kMain, 1260, 32).kernel("metric", 5000, 2048, 32).call(kMain, 1270, 31);
  const KinetoProfile profile = profile_kineto(text.trace(), {});
  CHECK(profile.has_modules);
  CHECK(profile.passes == 1);
  REQUIRE(profile.layers.size() == 3);
  CHECK(profile.layers[0].name == "Linear_0");
  CHECK(profile.layers[1].name == "ReLU_0");
  CHECK(profile.layers[2].name == "Net_0");
  CHECK(profile.layers[0].forward == KernelSum{1, 1000});
  CHECK(profile.layers[1].forward == KernelSum{1, 2000});
  CHECK(profile.layers[2].forward == KernelSum{1, 4000});
  CHECK(profile.layers[2].backward == KernelSum{1, 8000});
  CHECK(profile.layers[1].backward == KernelSum{1, 16000});
  CHECK(profile.layers[0].backward == KernelSum{2, 96000});
  CHECK(profile.layers[0].input == Bytes(128));
  CHECK(profile.layers[0].parameters == Bytes(120));
  CHECK(profile.layers[1].input == Bytes(192));
  CHECK(profile.layers[2].input == Bytes(-1));
  CHECK(left_out(profile, NoLayer::Backward) == KernelSum{1, 128000});
  CHECK(left_out(profile, NoLayer::Optimizer) == KernelSum{1, 256000});
  CHECK(left_out(profile, NoLayer::Communication) == KernelSum{1, 512000});
  CHECK(left_out(profile, NoLayer::NoCall) == KernelSum{1, 1024000});
  CHECK(left_out(profile, NoLayer::Outside) == KernelSum{1, 2048000});
  CHECK(profile.kernels == KernelSum{12, 4095000});
  CHECK(profile.idle == 7048000 - 1010000 - profile.busy);
}

TEST_CASE("kineto layers: passes are those of the first layer, and parameters count once") {
  KinetoText text;
  for (int pass = 0; pass < 3; ++pass) add_pass(text, 1000 * (pass + 1), 10 + 20 * pass, 5 + 10 * pass);
  const KinetoProfile profile = profile_kineto(text.trace(), {});
  CHECK(profile.passes == 3);
  REQUIRE(profile.layers.size() == 3);
  CHECK(profile.layers[0].forward == KernelSum{3, 3000});
  CHECK(profile.layers[0].parameters == Bytes(120));
  REQUIRE(profile.operations.size() == 6);
  // Kernels of the forward are the first three of each pass, 20 us apart; those of the backward are the next four.
  CHECK(profile.operations[2] == KinetoOperation{false, 1, 2010000, 2054000});
  CHECK(profile.operations[3] == KinetoOperation{true, 1, 2070000, 2194000});
  CHECK(profile_kineto(text.trace(), {{}, 1}).passes == 1);
  CHECK_THROWS_WITH_AS(static_cast<void>(profile_kineto(text.trace(), {{}, 2})),
                       doctest::Contains("'Linear_0' ran 3 times, which is no multiple of 2"), InputError);
}

TEST_CASE("kineto layers: operators are layers where no range is, those of steps in the same order") {
  KinetoText text;
  for (int step = 0; step < 2; ++step) {
    add_pass(text, 1000 * (step + 1), 10 + 20 * step, 5 + 10 * step);
    text.scope("user_annotation", "ProfilerStep#" + std::to_string(step), kMain, 1000 * (step + 1), 900);
  }
  const KinetoProfile profile = profile_kineto(text.trace(), {"operators", {}});
  CHECK_FALSE(profile.has_modules);
  CHECK(profile.passes == 2);
  REQUIRE(profile.layers.size() == 3);
  CHECK(profile.layers[0].name == "linear_0");
  CHECK(profile.layers[0].forward == KernelSum{2, 2000});
  CHECK(profile.layers[0].backward == KernelSum{4, 192000});
  CHECK(profile.layers[2].name == "add_0");
  REQUIRE(profile.operations.size() == 4);
  CHECK(profile.operations[2] == KinetoOperation{false, 1, 2010000, 2054000});
  CHECK(profile.layers[2].backward == KernelSum{2, 16000});
  CHECK(profile_kineto(text.trace(), {"operators", 1}).layers.size() == 6);
  CHECK_THROWS_WITH_AS(static_cast<void>(profile_kineto(text.trace(), {"operators", 4})),
                       doctest::Contains("in each of 4 forward passes, found 6"), InputError);
  CHECK_THROWS_AS(static_cast<void>(profile_kineto(text.trace(), {"operators", 3})), InputError);
}

TEST_CASE("kineto layers: a pattern names annotations or modules") {
  KinetoText text;
  add_pass(text, 1000, 10, 5);
  text.scope("user_annotation", "stage 7", kMain, 1004, 30);
  const KinetoProfile stages = profile_kineto(text.trace(), {"stage *", {}});
  REQUIRE(stages.layers.size() == 1);
  CHECK(stages.layers[0].name == "stage 7");
  CHECK(stages.layers[0].forward == KernelSum{2, 3000});
  CHECK(stages.layers[0].backward == KernelSum{3, 112000});
  const KinetoProfile net = profile_kineto(text.trace(), {"*Net_0", {}});
  REQUIRE(net.layers.size() == 1);
  CHECK(net.layers[0].forward == KernelSum{3, 7000});
  CHECK_THROWS_WITH_AS(static_cast<void>(profile_kineto(text.trace(), {"stage", {}})),
                       doctest::Contains("no annotation or module of the trace fits 'stage'"), InputError);
}

// The checkpoint runs the module again on the thread of autograd, whose numbers are its own: 5 is there, too.
TEST_CASE("kineto layers: what the backward computes again is backward, and is found by its own thread's number") {
  KinetoText text;
  text.module("A_0", kMain, 10, 20).op("aten::mm", kMain, 11, 10, 5).call(kMain, 12, 1);
  text.module("B_0", kMain, 40, 20).op("CheckpointFunction", kMain, 41, 10, 6).call(kMain, 42, 2);
  text.op("CheckpointFunctionBackward", kAutograd, 100, 50, 6, 1).link(1, kMain, 41, kAutograd, 100);
  text.module("B_0", kAutograd, 101, 15).op("aten::mm", kAutograd, 102, 10, 5).call(kAutograd, 103, 3);
  text.op("MmBackward0", kAutograd, 120, 10, 5, 2).link(2, kAutograd, 102, kAutograd, 120).call(kAutograd, 121, 4);
  text.op("MmBackward0", kAutograd, 160, 10, 5, 1).link(3, kMain, 11, kAutograd, 160).call(kAutograd, 161, 5);
  for (int i = 0; i < 5; ++i) text.kernel("k", 50 + 40 * i, 1 << i, 1 + i);
  const KinetoProfile profile = profile_kineto(text.trace(), {});
  CHECK(profile.passes == 1);
  REQUIRE(profile.layers.size() == 2);
  CHECK(profile.layers[0].forward == KernelSum{1, 1000});
  CHECK(profile.layers[0].backward == KernelSum{1, 16000});
  CHECK(profile.layers[1].forward == KernelSum{1, 2000});
  CHECK(profile.layers[1].backward == KernelSum{2, 12000});
  CHECK(profile.operations == std::vector<KinetoOperation>{{false, 0, 50000, 92000}, {true, 0, 130000, 226000}});
}

/// A module with one operator, and others inside it, of which each is given with its inputs.
struct Inputs {
  std::string name;
  std::string dims;
};

KinetoProfile profile_of_module(const std::vector<Inputs>& inputs, const std::vector<Inputs>& inner = {}) {
  const auto shapes = [](const Inputs& of) { return R"(,"Input Dims":[)" + of.dims + R"(],"Input type":["float"])"; };
  KinetoText text;
  text.module("A_0", kMain, 10, 80).call(kMain, 85, 1).kernel("k", 100, 1, 1);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    text.op(inputs[i].name, kMain, 11 + 20 * static_cast<double>(i), 18, 5, 0, shapes(inputs[i]));
  }
  for (const Inputs& each : inner) text.op(each.name, kMain, 12, 5, 5, 0, shapes(each));
  return profile_kineto(text.trace(), {});
}

TEST_CASE("kineto layers: a layer is in place if all its operators are that lie in no other one") {
  const KinetoLayer relu = profile_of_module({{"aten::relu_", "[8,4]"}}, {{"aten::clamp_min", "[8,4]"}}).layers.at(0);
  CHECK(relu.in_place);
  CHECK(relu.first == 8);
  CHECK(relu.input == Bytes(128));
  CHECK_FALSE(profile_of_module({{"aten::relu", "[8,4]"}}, {{"aten::clamp_min_", "[8,4]"}}).layers.at(0).in_place);
  CHECK_FALSE(profile_of_module({{"aten::conv2d", "[8,4]"}, {"aten::relu_", "[8,6]"}}).layers.at(0).in_place);
  CHECK_FALSE(profile_of_module({{"aten::relu_", "[8,6]"}, {"aten::conv2d", "[8,6]"}}).layers.at(0).in_place);
  CHECK(profile_of_module({{"aten::add_", "[8,6]"}, {"aten::relu_", "[8,6]"}}).layers.at(0).in_place);
  CHECK_FALSE(profile_of_module({{"aten::__iand__", "[8]"}}).layers.at(0).in_place);
  CHECK_FALSE(profile_of_module({{"c10d::allreduce_", "[8]"}}).layers.at(0).in_place);
}

TEST_CASE("kineto layers: a dropout in place has a mask, and only in training") {
  CHECK(profile_of_module({{"aten::dropout_", "[8,4]"}}).layers.at(0).in_place);
  CHECK_FALSE(profile_of_module({{"aten::dropout_", "[8,4]"}}, {{"aten::bernoulli_", "[8,4]"}}).layers.at(0).in_place);
}

TEST_CASE("kineto layers: a norm that counts its batches first reads what it norms") {
  const KinetoLayer norm = profile_of_module({{"aten::add_", "[]"}, {"aten::batch_norm", "[8,6]"}}).layers.at(0);
  CHECK_FALSE(norm.in_place);
  CHECK(norm.input == Bytes(192));
  CHECK(norm.first == 8);
  CHECK(profile_of_module({{"aten::add_", "[]"}}).layers.at(0).input == Bytes(4));
}

TEST_CASE("kineto layers: time of streams at once is busy once") {
  KinetoText text;
  text.kernel("a", 10, 10, 1).kernel("b", 15, 2, 2).kernel("c", 19, 5, 3).kernel("d", 30, 1, 4);
  const KinetoProfile profile = profile_kineto(text.trace(), {"operators", {}});
  CHECK(profile.kernels.time == 18000);
  CHECK(profile.busy == 15000);
  CHECK(profile.idle == 6000);
  CHECK(profile.layers.empty());
  CHECK_THROWS_AS(static_cast<void>(profile_kineto(KinetoText().trace(), {})), InputError);
}

TEST_CASE("kineto layers: patterns") {
  CHECK(fits_pattern("nn.Module: A", "nn.Module: *"));
  CHECK(fits_pattern("abcabd", "*ab*d"));
  CHECK(fits_pattern("", "*"));
  CHECK(fits_pattern("a", "a**"));
  CHECK_FALSE(fits_pattern("ab", "a"));
  CHECK_FALSE(fits_pattern("a", "ab"));
  CHECK_FALSE(fits_pattern("abcabd", "*ab*c"));
}

// The innermost range around a time is the one that starts last, and of those that start together the one that ends
// first.
TEST_CASE("kineto layers: ranges nest as a search through all of them says") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    KinetoTrace trace;
    const auto add_inside = [&](const auto& self, std::uint32_t thread, Nanoseconds from, Nanoseconds to) -> void {
      for (Nanoseconds at = from; at + 2 < to;) {
        const Nanoseconds start = at + static_cast<Nanoseconds>(random() % 3);
        const Nanoseconds end = std::min<Nanoseconds>(to, start + 1 + static_cast<Nanoseconds>(random() % 20));
        if (start < end) trace.scopes.push_back({start, end, -1, 0, thread, 0, 0, ScopeKind::Operator});
        if (start < end && end - start < to - from && random() % 2 == 0) self(self, thread, start, end);
        at = end;
      }
    };
    for (std::uint32_t thread = 0; thread < 3; ++thread) add_inside(add_inside, thread, 0, 60);
    for (int i = 0; i < 40; ++i) {
      trace.calls.push_back({static_cast<Nanoseconds>(random() % 62), i, static_cast<std::uint32_t>(random() % 4)});
    }
    const ScopeTree tree = nest_scopes(trace);
    for (std::size_t c = 0; c < trace.calls.size(); ++c) {
      std::int32_t best = -1;
      const auto key = [&](std::int32_t i) {
        const KinetoScope& scope = trace.scopes[static_cast<std::size_t>(i)];
        return std::tuple(scope.start, -scope.end, i);
      };
      for (std::int32_t i = 0; i < std::ssize(trace.scopes); ++i) {
        const KinetoScope& scope = trace.scopes[static_cast<std::size_t>(i)];
        const bool is_around = scope.thread == trace.calls[c].thread && scope.start <= trace.calls[c].start &&
                               trace.calls[c].start < scope.end;
        if (is_around && (best < 0 || key(i) > key(best))) best = i;
      }
      CHECK(tree.of_call[c] == best);
    }
  }
}

}  // namespace
}  // namespace stagecraft::kineto_layers_test
