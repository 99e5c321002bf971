// What one device of a group has, keeps and exchanges, beside numbers that were computed from tensor shapes
// independently of this program.
#include "sim/model/layer_graph.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/decoder.hpp"
#include "sim/workload/transformer.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using nlohmann::json;

const std::filesystem::path kParallelism = std::filesystem::path(STAGECRAFT_SHARED_DIR) / "reference/parallelism";

json reference(const std::string& name) {
  std::ifstream in(kParallelism / (name + ".json"));
  return json::parse(in);
}

std::int64_t number(const json& of, const char* key, std::int64_t otherwise = 0) {
  return of.contains(key) ? of.at(key).get<std::int64_t>() : otherwise;
}

LatentSize latent_size(const json& model) {
  if (!model.contains("mla")) return {};
  const json& mla = model.at("mla");
  return {number(mla, "q_rank"), number(mla, "kv_rank"), number(mla, "head_nope"), number(mla, "head_rope"),
          number(mla, "head_value")};
}

Architecture decoder_of(const json& model, std::int64_t sequence) {
  DecoderSize size;
  size.layers = number(model, "layers");
  size.hidden = number(model, "hidden");
  size.heads = number(model, "heads");
  size.key_value_heads = number(model, "kv_heads");
  size.head_size = number(model, "head_size");
  size.feed_forward = number(model, "feed_forward");
  size.sequence = sequence;
  size.vocabulary = number(model, "vocabulary");
  size.form.query_key_norm = model.value("qk_norm", false);
  if (model.contains("experts")) {
    size.experts = {.count = number(model, "experts"),
                    .active = number(model, "top_k"),
                    .feed_forward = number(model, "expert_feed_forward"),
                    .shared_feed_forward = number(model, "shared_feed_forward"),
                    .dense_layers = number(model, "dense_layers"),
                    .router_bias = model.value("router_bias", false)};
  }
  size.latent = latent_size(model);
  return decoder("decoder", size);
}

Architecture network_of(const std::string& name, std::int64_t sequence = 0) {
  const json model = reference("models").at("models").at(name);
  const std::int64_t tokens = sequence > 0 ? sequence : number(model, "sequence");
  if (!model.contains("positions")) return decoder_of(model, tokens);
  return gpt("gpt", {.layers = number(model, "layers"),
                     .hidden = number(model, "hidden"),
                     .heads = number(model, "heads"),
                     .sequence = tokens,
                     .vocabulary = number(model, "vocabulary"),
                     .positions = number(model, "positions"),
                     .feed_forward = number(model, "feed_forward")});
}

Degrees degrees_of(const json& inputs) {
  return {.tensor = number(inputs, "tensor"),
          .sequence = inputs.value("sequence_parallel", false),
          .vocabulary_multiple = number(inputs, "vocabulary_multiple", 1),
          .context = number(inputs, "context", 1),
          .expert = number(inputs, "expert", 1)};
}

std::vector<json> cases_of(const std::string& name) { return reference(name).at("cases").get<std::vector<json>>(); }

LayerGraph graph_of(const json& inputs, Granularity granularity = Granularity::Block) {
  Architecture network = network_of(inputs.at("model").get<std::string>(), number(inputs, "sequence"));
  if (inputs.value("recompute", "none") == "selective") network = with_selective_recompute(std::move(network));
  DeviceDescription device = find_device("H100-SXM5-80GB").value();
  device.precision = Precision::Bf16;
  return build_model(network, device, number(inputs, "microbatch", 1), granularity, degrees_of(inputs)).profiles.at(0);
}

/// The first layer of a stage of blocks, and the one after its last.
std::pair<std::size_t, std::size_t> layers_of_stage(const json& inputs, std::size_t all) {
  const json& blocks = inputs.at("layers_per_stage");
  const auto stage = static_cast<std::size_t>(number(inputs, "stage"));
  std::size_t begin = 1;  // after the embedding
  for (std::size_t at = 0; at < stage; ++at) begin += blocks.at(at).get<std::size_t>();
  const std::size_t end = begin + blocks.at(stage).get<std::size_t>();
  return {stage == 0 ? 0 : begin, stage + 1 == blocks.size() ? all : end};
}

struct StageParameters {
  std::int64_t all = 0;
  std::int64_t experts = 0;
};

StageParameters parameters_of_stage(const LayerGraph& graph, const json& inputs) {
  const auto [begin, end] = layers_of_stage(inputs, graph.layers.size());
  StageParameters bytes;
  for (std::size_t at = begin; at < end; ++at) {
    bytes.all += graph.layers[LayerId(at)].parameters.value();
    bytes.experts += graph.layers[LayerId(at)].experts.value();
  }
  const bool has_both = begin == 0 && end == graph.layers.size();
  if (has_both && !graph.tied.empty()) bytes.all -= graph.tied.front().bytes.value();
  return {bytes.all / 2, bytes.experts / 2};  // bf16
}

const Layer& block_of(const LayerGraph& graph, const json& inputs) {
  return graph.layers[LayerId(static_cast<std::size_t>(1 + number(inputs, "block")))];
}

std::string name_of(const Exchange& exchange) {
  switch (exchange.kind) {
    case Exchange::Kind::AllReduce: return "all-reduce";
    case Exchange::Kind::ReduceScatter: return "reduce-scatter";
    case Exchange::Kind::AllGather: return "all-gather";
    case Exchange::Kind::AllToAll: return "all-to-all";
    case Exchange::Kind::Shift: return "ring";
  }
  return "";
}

std::string group_of(const Exchange& exchange) {
  switch (exchange.among) {
    case Exchange::Among::Tensor: return "tensor";
    case Exchange::Among::Context: return "context";
    case Exchange::Among::Expert: return "expert";
  }
  return "";
}

/// What each member sends: in rings, and by an all-to-all to the others.
std::int64_t sent(const Exchange& exchange, std::int64_t members) {
  if (exchange.kind == Exchange::Kind::Shift) return exchange.bytes.value();
  const std::int64_t rounds = exchange.kind == Exchange::Kind::AllReduce ? 2 : 1;
  return rounds * (members - 1) * exchange.bytes.value() / members;
}

/// What was counted of one exchange.
std::string line(const std::string& name, const std::string& group, std::int64_t ranks, std::int64_t payload,
                 std::int64_t sent) {
  return name + " among " + std::to_string(ranks) + " of " + group + ": " + std::to_string(payload) + ", sends " +
         std::to_string(sent);
}

/// One line for each exchange, sorted.
std::vector<std::string> lines_of(const std::vector<Exchange>& exchanges, const json& inputs) {
  std::vector<std::string> lines;
  for (const Exchange& each : exchanges) {
    const std::string group = group_of(each);
    const std::int64_t ranks = number(inputs, group.c_str());
    const std::string text = line(name_of(each), group, ranks, each.bytes.value(), sent(each, ranks));
    lines.insert(lines.end(), static_cast<std::size_t>(each.count), text);
  }
  std::ranges::sort(lines);
  return lines;
}

/// Likewise; what passes in the same step of a ring is one exchange.
std::vector<std::string> lines_of(const json& collectives) {
  std::vector<std::string> lines;
  std::vector<std::int64_t> steps;
  std::int64_t ring = 0;
  for (const json& each : collectives) {
    const std::string name = each.at("collective").get<std::string>();
    const std::int64_t payload = number(each, "payload");
    if (name == "ring") {
      ring = number(each, "ranks");
      steps.resize(std::max(steps.size(), each.at("steps").get<std::size_t>()));
      for (std::int64_t at = 0; at < number(each, "steps"); ++at) steps[static_cast<std::size_t>(at)] += payload;
    } else {
      lines.push_back(line(name, each.at("group").get<std::string>(), number(each, "ranks"), payload,
                           number(each, "sent_per_rank")));
    }
  }
  for (const std::int64_t payload : steps) lines.push_back(line("ring", "context", ring, payload, payload));
  std::ranges::sort(lines);
  return lines;
}

std::int64_t sum_sent(const std::vector<Exchange>& exchanges, const json& inputs) {
  std::int64_t sum = 0;
  for (const Exchange& each : exchanges) sum += each.count * sent(each, number(inputs, group_of(each).c_str()));
  return sum;
}

}  // namespace

TEST_CASE("group: a member has the parameters that were counted for it" *
          doctest::skip(!std::filesystem::exists(kParallelism))) {
  const std::vector<json> cases = cases_of("parameters-per-rank");
  CHECK(cases.size() == 10);
  for (const json& each : cases) {
    CAPTURE(each.at("id").get<std::string>());
    const json& inputs = each.at("inputs");
    const json& expected = each.at("expected");
    const StageParameters found = parameters_of_stage(graph_of(inputs), inputs);
    CHECK(found.all == number(expected, "parameters"));
    CHECK(found.experts == number(expected, "parameters_expert"));
    CHECK(found.all - found.experts == number(expected, "parameters_non_expert"));
  }
}

TEST_CASE("group: a member keeps of a block the bytes that were counted for it" *
          doctest::skip(!std::filesystem::exists(kParallelism))) {
  const std::vector<json> cases = cases_of("activation-bytes-per-block");
  CHECK(cases.size() == 10);
  for (const json& each : cases) {
    CAPTURE(each.at("id").get<std::string>());
    const json& inputs = each.at("inputs");
    const Layer block = block_of(graph_of(inputs), inputs);
    const std::string recompute = inputs.at("recompute").get<std::string>();
    const Bytes kept = recompute == "full" ? block.checkpoint : block.stash;
    CHECK(kept.value() == number(each.at("expected"), "total"));
  }
}

TEST_CASE("group: the members exchange for a block what was counted for it" *
          doctest::skip(!std::filesystem::exists(kParallelism))) {
  const std::vector<json> cases = cases_of("collectives-per-block");
  CHECK(cases.size() == 6);
  for (const json& each : cases) {
    CAPTURE(each.at("id").get<std::string>());
    const json& inputs = each.at("inputs");
    const json& expected = each.at("expected");
    const Layer block = block_of(graph_of(inputs), inputs);
    CHECK(lines_of(block.forward_exchanges, inputs) == lines_of(expected.at("forward")));
    CHECK(lines_of(block.backward_exchanges, inputs) == lines_of(expected.at("backward")));
    CHECK(sum_sent(block.forward_exchanges, inputs) == number(expected, "sent_forward"));
    CHECK(sum_sent(block.backward_exchanges, inputs) == number(expected, "sent_backward"));
  }
}

}  // namespace stagecraft
