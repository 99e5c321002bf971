#include "tests/experiments/commands/told_run.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>

namespace stagecraft::test {

bool is_mark(const std::string& op) {
  static const std::set<std::string> kMarks{"delay", "collective-begin", "collective-end", "barrier", "setup",
                                            "post",  "abandon"};
  return kMarks.contains(op);
}

std::vector<ToldOperation> operations_of(const std::string& told) {
  std::vector<ToldOperation> operations;
  const nlohmann::json run = nlohmann::json::parse(told);
  for (const nlohmann::json& op : run["timeline"]) {
    if (is_mark(op["op"])) continue;
    operations.push_back({.op = op["op"],
                          .stage = op["stage"].is_null() ? -1 : op["stage"].get<std::int64_t>(),
                          .microbatch = op["microbatch"],
                          .from = op["from"],
                          .to = op["to"],
                          .bytes = op["bytes"],
                          .aborted = op["aborted"],
                          .begin = op["start_s"],
                          .end = op["end_s"]});
  }
  return operations;
}

void check_same(std::vector<ToldOperation> read, std::vector<ToldOperation> told, double tolerance) {
  const auto by_work = [](const ToldOperation& a, const ToldOperation& b) {
    return std::tuple_cat(a.work(), std::tie(a.begin)) < std::tuple_cat(b.work(), std::tie(b.begin));
  };
  std::ranges::sort(read, by_work);
  std::ranges::sort(told, by_work);
  REQUIRE(!told.empty());
  REQUIRE(read.size() == told.size());
  for (std::size_t i = 0; i < told.size(); ++i) {
    CAPTURE(told[i].op);
    CAPTURE(told[i].microbatch);
    REQUIRE(read[i].work() == told[i].work());
    CHECK(std::abs(read[i].begin - told[i].begin) <= tolerance);
    CHECK(std::abs(read[i].end - told[i].end) <= tolerance);
  }
}

}  // namespace stagecraft::test
