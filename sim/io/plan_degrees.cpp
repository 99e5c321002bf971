#include "sim/io/plan_degrees.hpp"

#include "sim/base/text.hpp"
#include "sim/io/plan_training.hpp"
#include "sim/io/yaml_values.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stagecraft {
namespace {

/// How many times the mean of tokens the busiest expert device gets: as `imbalance` says, or as many as `capacity`
/// gives each expert.
double read_imbalance(const YamlNode& node) {
  const auto imbalance = node.find("imbalance");
  const auto given = node.find("capacity");
  const std::optional<double> capacity = given ? read_capacity_factor(*given) : std::nullopt;
  if (!capacity) return imbalance ? read_imbalance_factor(*imbalance) : 1.0;
  if (imbalance) given->fail("give 'imbalance' or 'capacity', not both, unless 'capacity' is none");
  return *capacity;
}

}  // namespace

const std::vector<std::string>& context_attention_names() {
  static const std::vector<std::string> kNames = {"ring", "all-gather", "all-to-all"};
  return kNames;
}

const std::string& to_string(ContextAttention attention) {
  return context_attention_names().at(static_cast<std::size_t>(attention));
}

ContextAttention context_attention_of(const std::string& name) {
  const std::vector<std::string>& names = context_attention_names();
  return static_cast<ContextAttention>(std::ranges::find(names, name) - names.begin());
}

std::optional<std::string> degrees_problem(const Degrees& degrees) {
  const std::int64_t parts = degrees.tensor * degrees.context;
  if (parts > kMostInGroup) {
    return fmt::format("tensor {} and context {} make groups of {} devices, which have at most {}", degrees.tensor,
                       degrees.context, parts, kMostInGroup);
  }
  if (parts % degrees.expert == 0 || degrees.expert % parts == 0) return std::nullopt;
  return fmt::format("expert {} does not divide the {} devices of tensor {} and context {}, nor is a multiple of them",
                     degrees.expert, parts, degrees.tensor, degrees.context);
}

Degrees reduced(Degrees degrees) {
  if (degrees.devices() == 1) return {};
  if (degrees.tensor == 1) degrees.sequence = true;
  if (degrees.context == 1) degrees.attention = ContextAttention::Ring;
  if (degrees.expert == 1) degrees.imbalance = 1.0;
  return degrees;
}

double read_imbalance_factor(const YamlNode& node) {
  const double factor = read_number(node);
  if (factor < 1.0 || factor > kMostImbalance)
    node.fail_expected("a number from 1 to " + format_number(kMostImbalance));
  return factor;
}

std::optional<double> read_capacity_factor(const YamlNode& node) {
  if (node.text() == "none") return std::nullopt;
  if (!parse_number(node.text())) {
    node.fail_expected("a number from 1 to " + format_number(kMostImbalance) + ", or none");
  }
  return read_imbalance_factor(node);
}

Degrees read_degrees(const YamlNode& node) {
  node.allow_keys(
      {"tensor", "sequence", "vocabulary_multiple", "context", "attention", "expert", "imbalance", "capacity"});
  Degrees degrees;
  const auto read_degree = [&](std::string_view key, std::int64_t most, std::int64_t& into) {
    if (const auto found = node.find(key)) into = read_count(*found, 1, most);
  };
  read_degree("tensor", kMostInGroup, degrees.tensor);
  read_degree("vocabulary_multiple", kMostCopies, degrees.vocabulary_multiple);
  read_degree("context", kMostInGroup, degrees.context);
  read_degree("expert", kMostInGroup, degrees.expert);
  if (const auto sequence = node.find("sequence")) degrees.sequence = read_bool(*sequence);
  if (const auto attention = node.find("attention")) {
    std::vector<std::pair<std::string, ContextAttention>> known;
    for (const std::string& name : context_attention_names()) known.emplace_back(name, context_attention_of(name));
    degrees.attention = read_choice(*attention, known);
  }
  degrees.imbalance = read_imbalance(node);
  if (const auto problem = degrees_problem(degrees)) node.fail(*problem);
  return reduced(degrees);
}

Detail::Record degrees_record(const Degrees& degrees) {
  Detail::Record record;
  if (degrees.tensor > 1) record = {{"tensor", degrees.tensor}, {"sequence", degrees.sequence}};
  if (degrees.vocabulary_multiple > 1) record.emplace_back("vocabulary_multiple", degrees.vocabulary_multiple);
  if (degrees.context > 1) record.emplace_back("context", degrees.context);
  if (degrees.attention != ContextAttention::Ring) record.emplace_back("attention", to_string(degrees.attention));
  if (degrees.expert > 1) record.emplace_back("expert", degrees.expert);
  if (degrees.imbalance > 1.0) record.emplace_back("imbalance", degrees.imbalance);
  return record;
}

}  // namespace stagecraft
