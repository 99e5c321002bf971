#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::fuzz {

/// A reader under test: `take` gives it any bytes and, where it accepts them, goes on along the road. Refusing by an
/// InputError is right; every other exception, a broken invariant or a lost value ends the program and is a finding.
struct Target {
  std::string_view name;
  void (*take)(std::string_view input);
};

/// Every target, in alphabetical order.
[[nodiscard]] const std::vector<Target>& targets();

/// Inputs to start from: the test vectors of the target's format, good and bad, and the shipped files.
[[nodiscard]] std::vector<std::string> seeds(const Target& target);

/// Keys and words of all formats, units, and what YAML gives a meaning to.
[[nodiscard]] std::vector<std::string> dictionary();

void take_kineto(std::string_view input);
void take_model(std::string_view input);
void take_platform(std::string_view input);
void take_plan(std::string_view input);
void take_schedule(std::string_view input);
void take_table(std::string_view input);
void take_events(std::string_view input);
void take_architecture(std::string_view input);
void take_config(std::string_view input);
void take_device(std::string_view input);
void take_nccl(std::string_view input);
void take_network(std::string_view input);
void take_pipedream(std::string_view input);
void take_document(std::string_view input);
void take_steps(std::string_view input);
void take_study(std::string_view input);
void take_text(std::string_view input);
void take_topo(std::string_view input);
void take_xml(std::string_view input);
void take_options(std::string_view input);

}  // namespace stagecraft::fuzz
