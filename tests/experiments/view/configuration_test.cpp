#include "experiments/view/configuration.hpp"

#include "sim/model/plan.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::configuration_test {
namespace {

/// The text of a plan with these devices of each stage.
std::string text_of(const std::vector<std::vector<std::uint32_t>>& stages) {
  Plan plan;
  for (const std::vector<std::uint32_t>& devices : stages) {
    Stage& stage = plan.stages.emplace_back();
    for (const std::uint32_t device : devices) stage.replicas.emplace_back(DeviceId(device));
  }
  return configuration_text(plan);
}

}  // namespace

TEST_CASE("configuration: stages with as many replicas are folded") {
  CHECK(text_of({{0, 1}, {2}}) == "2 + 1");
  CHECK(text_of({{0, 1}, {2, 3}, {4}}) == "2 x 2 + 1");
}

TEST_CASE("configuration: stages that go round the devices are chunks") {
  CHECK(text_of({{0, 1}, {2, 3}, {0, 1}, {2, 3}, {0, 1}, {2, 3}}) == "2 x 2 (3 chunks)");
  CHECK(text_of({{0, 1}, {2}, {0, 1}, {2}}) == "2 + 1 (2 chunks)");
  CHECK(text_of({{0}, {0}}) == "1 (2 chunks)");
}

TEST_CASE("configuration: stages that go down the devices and up again are a V") {
  CHECK(text_of({{0}, {1}, {1}, {0}}) == "2 x 1 (V)");
  CHECK(text_of({{0, 1}, {2}, {2}, {0, 1}}) == "2 + 1 (V)");
  CHECK(text_of({{0}, {1}, {2}, {2}, {1}, {0}}) == "3 x 1 (V)");
  CHECK(text_of({{0}, {1}, {1}, {0}, {0}, {1}, {1}, {0}}) == "2 x 1 (2 waves)");
  CHECK(text_of({{0}, {1}, {1}, {0}, {0}, {1}, {0}, {1}}) == "8 x 1");
  CHECK(configuration_legend({"2 x 1 (2 waves)"}).ends_with("three times"));
  CHECK(configuration_legend({"3 x 1 (V)"}).ends_with("which go down and up again"));
}

TEST_CASE("configuration: devices that come again irregularly are told as stages") {
  CHECK(text_of({{0}, {1}, {0}}) == "3 x 1");
  CHECK(text_of({{0}, {1}, {1}, {0}, {0}}) == "5 x 1");
  CHECK(text_of({{0}, {0}, {0}, {0}}) == "1 (4 chunks)");
  CHECK(text_of({{0, 1}, {2}, {1, 0}, {2}}) == "2 + 1 + 2 + 1");
}

TEST_CASE("configuration: the legend explains what some text has") {
  CHECK(configuration_legend({"2 + 1", "4"}).empty());
  CHECK(configuration_legend({"2 x 4"}).ends_with("two pipelines of 8 stages"));
  CHECK(configuration_legend({"2 x 4 (3 chunks)"}).find("(5 chunks)") != std::string::npos);
}

}  // namespace stagecraft::configuration_test
