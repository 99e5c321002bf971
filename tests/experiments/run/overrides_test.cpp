// Values of files that are replaced.
#include "experiments/run/overrides.hpp"

#include "sim/io/json.hpp"
#include "sim/io/yaml_values.hpp"

#include <doctest/doctest.h>

#include <string>

namespace stagecraft {
namespace {

TEST_CASE("overrides: values of files are set by their path") {
  Detail root = Detail::Record{{"network", Detail::Record{{"bandwidth", "1 Gbps"}}},
                               {"node_kinds", Detail::Record{{"dgx-1.x", Detail::Record{{"n", 1}}}}},
                               {"nodes", Detail::List{Detail::Record{{"count", 1}}, Detail::Record{{"count", 2}}}}};
  set_value(root, "network.bandwidth", "10 Gbps");
  set_value(root, "network.latency", "1 us");
  set_value(root, "node_kinds.dgx-1.x.n", 5);
  set_value(root, "nodes[1].count", 3);
  CHECK(to_json(root, -1) == R"({"network":{"bandwidth":"10 Gbps","latency":"1 us"},"node_kinds":{"dgx-1.x":{"n":5}},)"
                             R"("nodes":[{"count":1},{"count":3}]})");
  CHECK_THROWS_WITH_AS(set_value(root, "netwrk.bandwidth", 1), doctest::Contains("did you mean 'network'"), InputError);
  CHECK_THROWS_AS(set_value(root, "nodes[2].count", 1), InputError);
  CHECK_THROWS_AS(set_value(root, "nodes[-1].count", 1), InputError);
  CHECK_THROWS_AS(set_value(root, "network.bandwidth.x", 1), InputError);
}

/// Reads `{low: N, high: N}`, of which low is the smaller one.
std::int64_t read_range(const std::string& text, const std::string& file) {
  const YamlNode root = parse_yaml(text, file);
  root.allow_keys({"low", "high"});
  const std::int64_t high = read_count(root.at("high"));
  return high - read_count(root.at("low"), 0, high);
}

InputError refusal_of(const std::string& text, const FileValues& values) {
  std::string hash;
  try {
    static_cast<void>(parse_with({"range.yaml", text}, values, "--set range.", hash, read_range));
  } catch (const InputError& error) {
    return error;
  }
  FAIL("is not refused");
  return InputError("");
}

TEST_CASE("overrides: a value that the file's format refuses is named, and the file's own errors keep their line") {
  const std::string good = "low: 1\nhigh: 5\n";
  std::string hash;
  CHECK(parse_with({"range.yaml", good}, {{"low", 2}, {"high", 9}}, "", hash, read_range) == 7);
  CHECK(refusal_of(good, {{"high", 9}, {"low", "x"}}).place() == InputPlace{"", 0, 0, "--set range.low"});
  const InputError elsewhere = refusal_of(good, {{"high", 0}});
  CHECK(elsewhere.place().key == "--set range.high");
  CHECK(elsewhere.message().starts_with("low: "));
  const InputError unknown = refusal_of(good, {{"hihg", 9}});
  CHECK(unknown.place().key == "--set range.hihg");
  CHECK(unknown.hint().starts_with("did you mean 'high'?"));
  CHECK(refusal_of("low: 1\nhigh: x\n", {{"low", 2}}).place() == InputPlace{"range.yaml", 2, 7, "high"});
  CHECK(parse_with({"range.yaml", "low: 1\nhigh: x\n"}, {{"high", 2}}, "", hash, read_range) == 1);
}

}  // namespace
}  // namespace stagecraft
