// What a study says of values of its keys before its first cell runs.
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>

#include <string>

namespace stagecraft {
namespace {

/// What `run` says on standard error of a study of two planners with this axis.
std::string told(const std::string& axis) {
  const Toy toy;
  write(toy.file("study.yaml"), "schema: stagecraft/study/1\nstudy: s\nmatrix:\n  planner: [uniform, data-parallel]\n" +
                                    axis + "base: {model: toy.yaml, platform: pair.yaml, microbatches: 2}\n");
  return run({"run", toy.file("study.yaml"), "--out", toy.file("results")}).err;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("study: a value that no cell can use is told before the first cell runs, one that some can use is not") {
  const std::string warning = "warning: cells with this value are invalid: ";
  const std::string wrong_unit = told("  platform.device_kinds.A.memory: [100 MB, 90 MBs]\n");
  CHECK(has(wrong_unit, warning + "platform.device_kinds.A.memory: expected a size"));
  CHECK(has(wrong_unit, "'90 MBs'"));
  CHECK_FALSE(has(wrong_unit, "'100 MB'"));
  CHECK(has(told("  model.input: [1 MB, 2 seconds]\n"), warning + "model.input: "));
  CHECK_FALSE(has(told("  platform.device_kinds.A.memory: [100 MB, 90 MB]\n"), "warning"));
  // More reserved than one of the memories has: the value is one that another cell can use.
  CHECK_FALSE(has(told("  platform.device_kinds.A.memory: [100 MB, 10 MB]\n"
                       "  platform.device_kinds.A.reserved: [0 B, 20 MB]\n"),
                  "warning"));
}

}  // namespace
}  // namespace stagecraft
