#pragma once

#include "tests/experiments/commands/command.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

namespace stagecraft::testing {

/// Sixteen layers, forward 1 ms and backward 2 ms, in four stages of four on four devices that are all joined. Tensors
/// are empty.
class Pipeline {
 public:
  Pipeline() {
    std::string layers;
    for (int i = 0; i < 16; ++i) {
      layers += "  - {name: l" + std::to_string(i) +
                ", forward: 1 ms, backward: 2 ms, parameters: 4 MB, output: 0 B, stash: 6 MB}\n";
    }
    write("model.yaml",
          "schema: stagecraft/model/1\nmodel: sixteen\ndevice: A\nmicrobatch_size: 2\nsource: made up\n"
          "layers:\n" +
              layers);
    write_platform("10 GBps");
    write_plan("plan.yaml", "pipedream", 1000);
    write_plan("flushed.yaml", "1f1b", 32);
  }

  [[nodiscard]] Ran ran(const std::string& plan, const std::string& events,
                        const std::vector<std::string>& more) const {
    std::vector<std::string> command = {"simulate",   path(plan),        "--model",     path("model.yaml"),
                                        "--platform", path("four.yaml"), "--no-timings"};
    if (!events.empty()) {
      write("events.yaml", "schema: stagecraft/events/1\nevents: [" + events + "]\n");
      command.insert(command.end(), {"--events", path("events.yaml")});
    }
    command.insert(command.end(), more.begin(), more.end());
    return run(command);
  }
  template <class Json>
  [[nodiscard]] Json answer(const std::string& plan, const std::string& events, std::vector<std::string> more) const {
    more.emplace_back("--json");
    const Ran result = ran(plan, events, more);
    CAPTURE(result.out);
    REQUIRE(result.code == 0);
    return Json::parse(result.out);
  }
  /// The text of a run that changes nothing, without the warning that it has not converged.
  [[nodiscard]] std::string text(const std::string& plan, const std::vector<std::string>& more) const {
    const Ran result = ran(plan, "", more);
    REQUIRE(result.code == 0);
    return result.out;
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  void write_platform(const std::string& bandwidth) const {
    write("four.yaml",
          "schema: stagecraft/platform/1\nplatform: four\ndevice_kinds: {A: {memory: 1 GB}}\n"
          "devices: [{name: a, kind: A}, {name: b, kind: A}, {name: c, kind: A}, {name: d, kind: A}]\n"
          "default_link: {bandwidth: " +
              bandwidth + ", latency: 0}\n");
  }

 private:
  void write_plan(const std::string& name, const std::string& schedule, int microbatches) const {
    std::string stages;
    for (int s = 0; s < 4; ++s) {
      std::string layers;
      for (int l = 4 * s; l < 4 * s + 4; ++l) layers += (l == 4 * s ? "l" : ", l") + std::to_string(l);
      stages += "  - {layers: [" + layers + "], devices: [" + std::string(1, static_cast<char>('a' + s)) + "]}\n";
    }
    write(name, "schema: stagecraft/plan/1\nmicrobatch_size: 2\nmicrobatches: " + std::to_string(microbatches) +
                    "\nschedule: {name: " + schedule + "}\nstages:\n" + stages);
  }
  test::TemporaryFolder folder_;
};

/// The questions that changed the plan.
template <class Json>
Json changes_of(const Json& answer) {
  Json changes = Json::array();
  for (const Json& question : answer["questions"]) {
    if (!question["changes_at"].is_null()) changes.push_back(question);
  }
  return changes;
}

/// The first question that was asked because of that; null if there is none.
template <class Json>
Json asked_by(const Json& answer, const std::string& cause) {
  for (const Json& question : answer["questions"]) {
    if (question["asked_by"] == cause) return question;
  }
  return Json();
}

/// When the last microbatch was done.
template <class Json>
double end_of(const Json& answer) {
  return answer["windows"].back()["at_s"];
}

/// Writes a plan of two stages with two replicas each on the four devices, and returns its name.
inline std::string plan_of_pairs(const Pipeline& pipeline, int rounds_per_update = 1) {
  pipeline.write("pairs.yaml",
                 "schema: stagecraft/plan/1\nmicrobatch_size: 2\nmicrobatches: 1000\nrounds_per_update: " +
                     std::to_string(rounds_per_update) +
                     "\nschedule: {name: pipedream}\nstages:\n"
                     "  - {layers: [l0, l1, l2, l3, l4, l5, l6, l7], devices: [a, b]}\n"
                     "  - {layers: [l8, l9, l10, l11, l12, l13, l14, l15], devices: [c, d]}\n");
  return "pairs.yaml";
}

/// Writes eight layers of 15 ms in four stages on the first four of five devices, and returns the name of the plan.
inline std::string field_case(const Pipeline& pipeline) {
  std::string layers;
  for (int i = 0; i < 8; ++i) {
    layers += "  - {name: l" + std::to_string(i) +
              ", forward: 5 ms, backward: 10 ms, parameters: 250 MB, output: 1 MB, stash: 1 MB}\n";
  }
  pipeline.write("model.yaml",
                 "schema: stagecraft/model/1\nmodel: eight\ndevice: G\nmicrobatch_size: 1\nlayers:\n" + layers);
  pipeline.write("four.yaml",
                 "schema: stagecraft/platform/1\nplatform: five\ndevice_kinds: {G: {memory: 64 GiB}}\nnode_kinds:\n"
                 "  n: {devices: {kind: G, count: 5}, interconnect: {type: switch, bandwidth: 10 GBps, latency: 0 s}}\n"
                 "nodes: {kind: n, count: 1}\n");
  pipeline.write("eight.yaml",
                 "schema: stagecraft/plan/1\nmicrobatch_size: 1\nmicrobatches: 100\nschedule: {name: pipedream}\n"
                 "stages:\n  - {layers: [l0, l1], devices: [gpu0]}\n  - {layers: [l2, l3], devices: [gpu1]}\n"
                 "  - {layers: [l4, l5], devices: [gpu2]}\n  - {layers: [l6, l7], devices: [gpu3]}\n");
  return "eight.yaml";
}

}  // namespace stagecraft::testing
