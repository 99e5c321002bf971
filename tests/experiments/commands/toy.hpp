#pragma once

#include "tests/experiments/commands/command.hpp"
#include "tests/temporary_folder.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace stagecraft {

/// A folder that goes when the test ends.
struct Folder {
  test::TemporaryFolder temporary;
  std::filesystem::path path = temporary.path();
  [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }
};

inline void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

inline std::string read(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Two equal layers, 10 ms and 20 ms, 1 MB of stash each, on two devices of 100 MB joined by a link of 1 GB/s.
struct Toy : Folder {
  std::string model = file("toy.yaml");
  std::string platform = file("pair.yaml");
  std::string plan = file("plan.yaml");
  Toy() {
    write(model, R"(schema: stagecraft/model/1
model: toy
device: A
microbatch_size: 4
source: "made up for the tests"
input: 1 MB
layers:
  - {name: first, forward: 10 ms, backward: 20 ms, parameters: 1 MB, output: 1 MB}
  - {name: second, forward: 10 ms, backward: 20 ms, parameters: 1 MB, output: 1 MB}
)");
    write(platform, R"(schema: stagecraft/platform/1
platform: pair
device_kinds: {A: {memory: 100 MB, speed: 1}}
devices: [{name: a, kind: A}, {name: b, kind: A}]
links: [{between: [a, b], bandwidth: 1 GBps, latency: 0}]
)");
    write_plan("8");
  }
  /// The whole model on one device of this name, which may hold no single quote.
  void rename_device(const std::string& name) const {
    write(platform,
          "schema: stagecraft/platform/1\nplatform: odd\ndevice_kinds: {A: {memory: 100 MB, speed: 1}}\n"
          "devices: [{name: '" +
              name + "', kind: A}]\nlinks: []\n");
    write(plan,
          "schema: stagecraft/plan/1\nmicrobatch_size: 4\nmicrobatches: 2\nschedule: {name: gpipe}\n"
          "stages: [{layers: [first, second], devices: ['" +
              name + "']}]\n");
  }
  void write_plan(const std::string& microbatches) const {
    write(plan, "schema: stagecraft/plan/1\nmicrobatch_size: 4\nmicrobatches: " + microbatches + R"(
schedule: {name: gpipe}
stages:
  - {layers: [first], devices: [a]}
  - {layers: [second], devices: [b]}
predicted: {iteration_time: 0.27 s}
)");
  }
  [[nodiscard]] Ran on(const std::string& verb, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{verb};
    if (verb == "check" || verb == "simulate") arguments.push_back(plan);
    for (const std::string& text : {std::string("--model"), model, std::string("--platform"), platform}) {
      arguments.push_back(text);
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
};

}  // namespace stagecraft
