#include "experiments/run/chosen_degrees.hpp"
#include "experiments/study/cell_key.hpp"
#include "sim/io/plan_degrees.hpp"

namespace stagecraft {
namespace {

void take_tensor(const Detail& value, CellSpec& spec) {
  spec.planning.fastest_degrees = std::holds_alternative<std::string>(value.value);
  if (!spec.planning.fastest_degrees) spec.planning.degrees.tensor = whole(value);
}

void read_capacity(const YamlNode& node, Keys& into) {
  const std::optional<double> capacity = read_capacity_factor(node);
  set_key(into, "capacity", capacity ? Detail(*capacity) : Detail("none"));
}

/// As `--capacity`, it is another way to say how much the busiest device of an expert group gets.
void take_capacity(const Detail& value, CellSpec& spec) {
  if (value != Detail("none")) spec.planning.degrees.imbalance = as<double>(value);
}

}  // namespace

std::vector<CellKey> group_keys() {
  return {
      {"tensor", count_or_word_key("tensor", "devices", kMostInGroup, {kFastestDegrees}), take_tensor},
      key(
          "sequence_parallel",
          [](const Detail& value, CellSpec& spec) { spec.planning.degrees.sequence = word(value) == "true"; }, word_key,
          std::vector<std::string>{"true", "false"}),
      key(
          "context", [](const Detail& value, CellSpec& spec) { spec.planning.degrees.context = whole(value); },
          count_key, 1, kMostInGroup),
      key(
          "context_attention",
          [](const Detail& value, CellSpec& spec) {
            spec.planning.degrees.attention = context_attention_of(word(value));
          },
          word_key, context_attention_names()),
      key(
          "expert", [](const Detail& value, CellSpec& spec) { spec.planning.degrees.expert = whole(value); }, count_key,
          1, kMostInGroup),
      {"imbalance", [](const YamlNode& node, Keys& into) { set_key(into, "imbalance", read_imbalance_factor(node)); },
       [](const Detail& value, CellSpec& spec) { spec.planning.degrees.imbalance = as<double>(value); }},
      {"capacity", read_capacity, take_capacity},
  };
}

}  // namespace stagecraft
