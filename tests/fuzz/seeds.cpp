// fuzz_seeds FOLDER: writes FOLDER/<target>/<number> for every seed, and FOLDER/dictionary.
#include "tests/fuzz/targets.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

namespace {

namespace fs = std::filesystem;

/// A word as libFuzzer's dictionaries write it.
std::string escaped(const std::string& word) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string text = "\"";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\';
    if (is_plain) {
      text += c;
    } else {
      text.append("\\x").append(1, kHex[byte >> 4U]).append(1, kHex[byte & 15U]);
    }
  }
  return text + "\"\n";
}

void write_all(const fs::path& folder) {
  for (const stagecraft::fuzz::Target& target : stagecraft::fuzz::targets()) {
    const fs::path into = folder / target.name;
    fs::create_directories(into);
    std::size_t number = 0;
    for (const std::string& seed : stagecraft::fuzz::seeds(target)) {
      std::ofstream(into / std::to_string(number++), std::ios::binary) << seed;
    }
  }
  std::ofstream words(folder / "dictionary", std::ios::binary);
  for (const std::string& word : stagecraft::fuzz::dictionary()) words << escaped(word);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fuzz_seeds FOLDER\n";
    return 2;
  }
  write_all(argv[1]);
  return 0;
}
