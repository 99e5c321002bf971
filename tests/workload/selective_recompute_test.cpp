// Selective recomputation of attention, beside the closed forms of Korthikanti et al. (arXiv:2205.05198) and beside
// plans that recompute the same operators as a segment. T tokens, h hidden, a heads, s sequence.
#include "sim/base/error.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/stage_program.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/network_costs.hpp"
#include "sim/workload/retimed_profile.hpp"
#include "sim/workload/transformer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stagecraft::selective_recompute_test {
namespace {

constexpr std::int64_t kHidden = 1024;
constexpr std::int64_t kHeads = 16;
constexpr std::int64_t kTokens = 512;  // of a sample
constexpr std::int64_t kSamples = 3;
constexpr std::int64_t kStream = kTokens * kHidden * kSamples;           // sbh
constexpr std::int64_t kScores = kHeads * kTokens * kTokens * kSamples;  // a s^2 b
constexpr std::array kDrawn{"bert-base", "gpt2-small", "t5-base", "transformer-base", "xlnet-large"};

Architecture one_gpt(std::int64_t heads = kHeads) {
  return gpt(
      "g",
      {.layers = 2, .hidden = kHidden, .heads = heads, .sequence = kTokens, .vocabulary = 50304, .positions = kTokens});
}

DeviceDescription a100() { return find_device("A100-SXM4-80GB", Precision::Bf16).value(); }

DeviceDescription without_host() {
  DeviceDescription device = a100();
  device.host = {};
  return device;
}

LayerGraph built_on(const DeviceDescription& device, const Architecture& net, Granularity granularity,
                    const Degrees& degrees = {}) {
  return build_model(net, device, kSamples, granularity, degrees).profiles.front();
}

LayerGraph built(const Architecture& net, Granularity granularity = Granularity::Block, const Degrees& degrees = {}) {
  return built_on(a100(), net, granularity, degrees);
}

const Layer& layer_named(const LayerGraph& graph, const std::string& name) {
  return *std::ranges::find(graph.layers, name, &Layer::name);
}

/// By its name, whether an operator of a GPT, a BERT or a Transformer is recomputed.
bool is_of_scores(const std::string& name) {
  static const std::vector<std::string> kOfScores{"scores", "scale_mask", "softmax", "attention_dropout", "context"};
  return std::ranges::find(kOfScores, name.substr(name.rfind('.') + 1)) != kOfScores.end();
}

std::int64_t nanoseconds(Seconds time) { return std::llround(time.value() * 1e9); }

/// A stage of all layers; those of scores are a segment for each attention.
Stage whole_stage(const LayerGraph& graph, bool recomputes_scores) {
  Stage stage;
  std::map<std::string, Recompute> segments;
  for (const LayerId id : indices(graph.layers)) {
    stage.layers.push_back(id);
    const std::string& name = graph.layers[id].name;
    if (recomputes_scores && is_of_scores(name)) segments[name.substr(0, name.rfind('.'))].layers.push_back(id);
  }
  for (const auto& [attention, segment] : segments) stage.memory.emplace_back(segment);
  return stage;
}

}  // namespace

// sbh (34 + 5as/h) bytes become 34 sbh, in a tensor group with sequence parallelism 34 sbh / t, and without it
// sbh (10 + 24/t); 8 bytes for each token that a norm reads.
TEST_CASE("selective recomputation: a block keeps what is left of Korthikanti's formulas without the scores") {
  const Architecture net = one_gpt();
  const Architecture selective = with_selective_recompute(net);
  const std::int64_t statistics = 2 * 8 * kTokens * kSamples;
  const auto kept = [](const Architecture& of, const Degrees& degrees) {
    return layer_named(built(of, Granularity::Block, degrees), "block1").stash.value();
  };
  CHECK(kept(net, {}) == 34 * kStream + 5 * kScores + statistics);
  CHECK(kept(selective, {}) == 34 * kStream + statistics);
  const Degrees four{.tensor = 4, .sequence = true};
  CHECK(kept(selective, four) == (34 * kStream + statistics) / 4);
  CHECK(kept(net, four) - kept(selective, four) == 5 * kScores / 4);
  CHECK(kept(selective, {.tensor = 4, .sequence = false}) == 10 * kStream + 24 * kStream / 4 + statistics);
}

// The softmax has the gradients of its output and its input, 2 bytes each; softmax, mask and dropped values are 5.
TEST_CASE("selective recomputation: what the forward makes again is held while the backward runs") {
  CHECK(layer_named(built(one_gpt()), "block1").workspace.value() == 4 * kScores);
  CHECK(layer_named(built(with_selective_recompute(one_gpt())), "block1").workspace.value() == (5 + 4) * kScores);
}

TEST_CASE("selective recomputation: the backward takes longer by the forward from scores to context") {
  for (const char* name : {"bert-base", "gpt2-small", "transformer-base"}) {
    CAPTURE(std::string(name));
    const Architecture net = find_architecture(name).value();
    const LayerGraph operators = built_on(without_host(), net, Granularity::Operator);
    for (const Granularity granularity : {Granularity::Layer, Granularity::Block}) {
      const LayerGraph before = built_on(without_host(), net, granularity);
      const LayerGraph after = built_on(without_host(), with_selective_recompute(net), granularity);
      const auto members = operators_of_layers(net, granularity);
      std::int64_t sum = 0;
      for (const LayerId id : indices(before.layers)) {
        std::int64_t again = 0;
        for (const OperatorId op : members[id]) {
          const Layer& alone = layer_named(operators, net.operators[op].name);
          if (is_of_scores(alone.name)) again += nanoseconds(alone.forward);
        }
        Layer expected = before.layers[id];
        CHECK(nanoseconds(after.layers[id].backward) == nanoseconds(expected.backward) + again);
        expected.backward = after.layers[id].backward;
        expected.stash = after.layers[id].stash;
        expected.checkpoint = after.layers[id].checkpoint;
        expected.workspace = after.layers[id].workspace;
        expected.keeps = after.layers[id].keeps;
        CHECK(after.layers[id] == expected);
        sum += again;
      }
      CHECK(sum > 0);
      CHECK(after.work == before.work);
      CHECK(after.edges == before.edges);
    }
  }
}

TEST_CASE("selective recomputation: the host launches what runs again, too") {
  const Architecture net = with_selective_recompute(one_gpt());
  const auto alone = network_costs(net, without_host(), 1);
  const DeviceDescription device = a100();
  const double launch = device.host.time.value();
  double computing = 0;
  double kernels = 0;
  double expected_again = 0;
  for (const OperatorId id : indices(net.operators)) {
    if (net.operators[id].block != "block1") continue;
    const OperatorCost& cost = alone[id];
    computing += (cost.backward_input + cost.backward_weight).value();
    kernels += cost.backward_kernels;
    if (!is_of_scores(net.operators[id].name)) continue;
    expected_again += cost.forward.value();
    kernels += cost.forward_kernels;
  }
  computing += expected_again;
  const double longer = std::pow(std::pow(computing, 8) + std::pow(kernels * launch, 8), 1.0 / 8) / computing;
  double backward = 0;
  double again = 0;
  const auto costs = network_costs(net, device, 1);
  for (const OperatorId id : indices(net.operators)) {
    if (net.operators[id].block != "block1") continue;
    backward += (costs[id].backward_input + costs[id].backward_weight + costs[id].recomputed).value();
    again += costs[id].recomputed.value();
  }
  CHECK(backward == doctest::Approx(computing * longer).epsilon(1e-9));
  CHECK(again == doctest::Approx(expected_again * longer).epsilon(1e-9));
}

// A plan at the granularity of operators says the same in another way: each attention is a segment.
TEST_CASE("selective recomputation: a stage keeps and takes what a plan does that recomputes each attention") {
  for (const std::int64_t heads : {4, 16}) {
    const LayerGraph blocks = built_on(without_host(), with_selective_recompute(one_gpt(heads)), Granularity::Block);
    const LayerGraph operators = built_on(without_host(), one_gpt(heads), Granularity::Operator);
    const StageProgram selective = stage_program(blocks, whole_stage(blocks, false));
    const StageProgram segments = stage_program(operators, whole_stage(operators, true));
    CHECK(selective.kept == segments.kept);
    Seconds again;
    for (const Layer& layer : operators.layers) {
      if (is_of_scores(layer.name)) again += layer.forward;
    }
    CHECK(totals(blocks).backward.value() == doctest::Approx((totals(operators).backward + again).value()));
  }
}

TEST_CASE("selective recomputation: granularities agree, and operators are too small for it") {
  for (const char* name : kDrawn) {
    CAPTURE(std::string(name));
    const Architecture net = with_selective_recompute(find_architecture(name).value());
    REQUIRE(net.recomputes_attention);
    const LayerGraph layers = built(net, Granularity::Layer);
    const LayerGraph blocks = built(net, Granularity::Block);
    const auto kept = [](const LayerGraph& graph) { return stage_program(graph, whole_stage(graph, false)).kept; };
    CHECK(kept(layers) == kept(blocks));
    CHECK(totals(layers).backward.value() == doctest::Approx(totals(blocks).backward.value()));
    const auto largest = [](const LayerGraph& graph) {
      return std::ranges::max(graph.layers, {}, &Layer::workspace).workspace;
    };
    CHECK(largest(layers) == largest(blocks));
    CHECK_THROWS_AS(static_cast<void>(built(net, Granularity::Operator)), InputError);
  }
}

// Of each score the softmax keeps 2 bytes, the mask of the dropout 1 and what it leaves 2; XLNet keeps 2 bytes for each
// of two segments and each pair of tokens as well.
TEST_CASE("selective recomputation: nothing of the size of the scores is kept in any network") {
  for (const char* name : kDrawn) {
    CAPTURE(std::string(name));
    const Architecture net = find_architecture(name).value();
    std::int64_t scores = 0;
    std::int64_t dropped = 0;
    std::int64_t segments = 0;
    for (const Operator& op : net.operators) {
      if (op.name.ends_with(".softmax") && op.kind == OperatorKind::Softmax) scores += op.output_values;
      if (op.name.ends_with(".attention_dropout")) dropped += op.output_values;
      if (op.name.ends_with(".segment_scores")) segments += op.saved_values;
    }
    const auto kept = [](const Architecture& of) {
      const LayerGraph graph = built(of);
      return stage_program(graph, whole_stage(graph, false)).kept.value();
    };
    CHECK(scores > 0);
    CHECK(kept(net) - kept(with_selective_recompute(net)) == kSamples * (2 * scores + 3 * dropped + 2 * segments));
  }
}

TEST_CASE("selective recomputation: a network whose attention is fused stays as it is, and so does one without") {
  for (const char* name : {"llama3-8b", "mixtral-8x7b", "deepseek-v3", "falcon-7b", "vit-b-16", "resnet50", "gnmt-8"}) {
    CAPTURE(std::string(name));
    const auto net = find_architecture(name);
    REQUIRE(net.has_value());
    CHECK(with_selective_recompute(*net) == *net);
  }
}

TEST_CASE("selective recomputation: a retimed profile is that of the network") {
  const Architecture net = with_selective_recompute(one_gpt());
  const Degrees degrees{.tensor = 2};
  const LayerGraph fresh = built(net, Granularity::Block, degrees);
  const LayerGraph retimed = retimed_profile(net, a100(), kSamples, Granularity::Block, degrees).graph;
  for (const LayerId id : indices(fresh.layers)) {
    CHECK(std::abs((retimed.layers[id].backward - fresh.layers[id].backward).value()) < 100 * 0.5e-9);
    CHECK(retimed.layers[id].stash == fresh.layers[id].stash);
  }
  CHECK(fresh.source.find("attention is recomputed selectively") != std::string::npos);
}

}  // namespace stagecraft::selective_recompute_test
