#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/decoder.hpp"
#include "sim/workload/decoder_families.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace stagecraft::active_parameters_test {
namespace {

std::int64_t active(const std::string& name) { return active_parameter_count(find_architecture(name).value()); }

/// In units of 1e9, to so many decimals.
double billions(std::int64_t parameters, int decimals = 0) {
  const double scale = std::pow(10.0, decimals);
  return std::round(static_cast<double>(parameters) / 1e9 * scale) / scale;
}

}  // namespace

// By hand, of all blocks: 6 of 8 experts of 3·h·f are left out, 4096 by 14336.
TEST_CASE("active parameters: Mixtral visits two of its eight experts") {
  const std::int64_t all = parameter_count(find_architecture("mixtral-8x7b").value());
  CHECK(active("mixtral-8x7b") == all - std::int64_t{32} * 6 * 3 * 4096 * 14336);
}

// Mistral AI, "Mixtral of experts", 2023: 46.7 and 12.9; "Cheaper, Better, Faster, Stronger", 2024: 141 and 39.
// Qwen3's report, arXiv:2505.09388, and its model cards: 30.5 and 3.3; 235 and 22. DeepSeek-V2, arXiv:2405.04434: 21.
TEST_CASE("active parameters: they are the published ones") {
  CHECK(billions(active("mixtral-8x7b"), 1) == 12.9);
  CHECK(billions(active("mixtral-8x22b")) == 39);
  CHECK(static_cast<double>(active("qwen3-30b-a3b")) == doctest::Approx(3.3e9).epsilon(0.02));
  CHECK(billions(active("qwen3-235b-a22b")) == 22);
  CHECK(billions(active("deepseek-v2")) == 21);
}

// arXiv:2412.19437 has 37 billion, which leaves out the word table: a token reads one of its rows. By hand: 58 blocks
// with 256 experts of 3·h·f_e, of which a token visits 8; V·h.
TEST_CASE("active parameters: DeepSeek-V3 has 37 billion beside its word table") {
  const std::int64_t all = parameter_count(find_architecture("deepseek-v3").value());
  CHECK(active("deepseek-v3") == all - std::int64_t{58} * 248 * 3 * 7168 * 2048);
  CHECK(billions(active("deepseek-v3"), 1) == 37.6);
  CHECK(billions(active("deepseek-v3") - std::int64_t{129'280} * 7168) == 37);
}

TEST_CASE("active parameters: without experts they are all parameters") {
  for (const std::string name : {"llama3-8b", "gpt2-small", "vit-b-16", "resnet50", "t5-small"}) {
    CAPTURE(name);
    CHECK(active(name) == parameter_count(find_architecture(name).value()));
  }
}

TEST_CASE("active parameters: a computed model says them of a network with experts") {
  const auto source = [](const std::string& name) {
    return build_model(find_architecture(name).value(), find_device("H100-SXM5-80GB").value(), 1, Granularity::Block)
        .profiles.at(0)
        .source;
  };
  CHECK(source("mixtral-8x7b").find("; 46702792704 parameters, of which a token uses 12879925248; network: ") !=
        std::string::npos);
  CHECK(source("llama3-8b").find("a token uses") == std::string::npos);
}

}  // namespace stagecraft::active_parameters_test
