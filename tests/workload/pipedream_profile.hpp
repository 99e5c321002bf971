#pragma once

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace stagecraft::test {

/// One node of PipeDream's profile, in its units: milliseconds and bytes.
struct Measured {
  int number = 0;
  std::string module;
  double forward = 0;
  double backward = 0;
  double activation = 0;
  double parameters = 0;
};

/// All nodes of a profile, in the order of its file.
inline std::vector<Measured> read_pipedream_profile(const std::filesystem::path& path) {
  static const std::regex kNode(R"(node(\d+) -- (\w+).*forward_compute_time=([\d.]+), backward_compute_time=([\d.]+), )"
                                R"(activation_size=([\d.]+), parameter_size=([\d.]+))");
  std::vector<Measured> nodes;
  std::ifstream file(path);
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (!std::regex_search(line, match, kNode)) continue;
    nodes.push_back({std::stoi(match[1]), match[2], std::stod(match[3]), std::stod(match[4]), std::stod(match[5]),
                     std::stod(match[6])});
  }
  return nodes;
}

}  // namespace stagecraft::test
