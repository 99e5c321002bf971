#pragma once

#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace stagecraft::test {

/// An operation that takes time, as `--timeline --json` tells it and as an exported run has it.
struct ToldOperation {
  std::string op;
  std::int64_t stage = -1;  ///< -1: none
  std::int64_t microbatch = 0;
  std::string from, to;
  std::int64_t bytes = 0;
  bool aborted = false;
  double begin = 0.0;  ///< seconds
  double end = 0.0;
  [[nodiscard]] auto work() const { return std::tie(op, stage, microbatch, from, to, bytes, aborted); }
};

/// Whether the kind of operation is a mark, which is not drawn.
[[nodiscard]] bool is_mark(const std::string& op);

/// The operations of the answer to `simulate --timeline --json`, but its marks.
[[nodiscard]] std::vector<ToldOperation> operations_of(const std::string& told);

/// The same operations at the same times, in any order.
void check_same(std::vector<ToldOperation> read, std::vector<ToldOperation> told, double tolerance);

/// A plan on disk, with what it is for.
struct PlanOnDisk {
  std::vector<std::string> arguments;  ///< PLAN --model M --platform P, and more
  std::string engine = "replay";
  [[nodiscard]] std::vector<std::string> of(const std::string& verb, const std::vector<std::string>& more) const {
    std::vector<std::string> all{verb};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.insert(all.end(), {"--engine", engine});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] std::string told() const { return run(of("simulate", {"--timeline", "--json"})).out; }
  /// The bytes of an exported run.
  [[nodiscard]] std::string exported(const std::string& format, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = of("export", {"--to", format, "-o", "-"});
    all.insert(all.end(), more.begin(), more.end());
    const Ran ran = run(all);
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return ran.out;
  }
};

/// Makes a plan with shipped inputs.
inline PlanOnDisk planned(const Folder& folder, const std::string& model, const std::string& platform,
                          std::vector<std::string> choices) {
  const std::string plan = folder.file(model + ".yaml");
  choices.insert(choices.begin(), {"plan", "--model", model, "--platform", platform, "-o", plan});
  REQUIRE(run(choices).code == 0);
  return {{plan, "--model", model, "--platform", platform}};
}

inline PlanOnDisk on_disk(const Toy& toy) { return {{toy.plan, "--model", toy.model, "--platform", toy.platform}}; }

}  // namespace stagecraft::test
