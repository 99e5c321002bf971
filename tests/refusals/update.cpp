#include "tests/refusals/update.hpp"

#include "tests/refusals/corpus.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace stagecraft::refusals {
namespace {

namespace fs = std::filesystem;

const std::string kMark = "# expect: ";

bool has_file_beside(const fs::path& path) {
  const fs::path extension = path.extension();
  return extension == ".json" || extension == ".xml" || extension == ".csv" || extension == ".gz";
}

}  // namespace

bool is_updating() {
  const char* value = std::getenv("STAGECRAFT_UPDATE");
  return value != nullptr && *value != '\0';
}

std::string renewed(const std::string& expectation, const std::string& message) {
  if (is_kept(expectation, message)) return expectation;
  const std::string line = message.substr(0, message.find('\n'));
  return expectation.ends_with(')') && !lists_names(line) ? line : beginning(line);
}

void rewrite(const fs::path& path, const std::string& content) {
  if (raw(path) == content) return;
  const fs::path draft = path.string() + ".new";
  std::ofstream stream(draft, std::ios::binary);
  stream << content;
  stream.close();
  if (!stream) throw std::runtime_error(draft.string() + ": cannot be written");
  fs::rename(draft, path);
}

std::string expectation_of(const fs::path& path) {
  if (has_file_beside(path)) {
    const std::string text = raw(path.string() + ".expect");
    return text.substr(0, text.find('\n'));
  }
  const std::string text = raw(path);
  return text.starts_with(kMark) ? text.substr(kMark.size(), text.find('\n') - kMark.size()) : "";
}

void renew_expectation(const fs::path& path, const std::string& message) {
  const std::string old = expectation_of(path);
  if (old.empty()) return;
  const std::string expectation = renewed(old, message);
  if (has_file_beside(path)) {
    rewrite(path.string() + ".expect", expectation + "\n");
  } else {
    rewrite(path, kMark + expectation + raw(path).substr(kMark.size() + old.size()));
  }
}

void renew_expectations(const fs::path& path, const std::vector<std::string>& messages) {
  const std::vector<std::string> old = promises(path, "expect");
  if (old.empty() || messages.empty()) return;
  std::string expected;
  for (const std::string& message : messages) {
    const auto kept = std::ranges::find_if(old, [&](const std::string& each) { return is_kept(each, message); });
    expected += kMark + (kept != old.end() ? *kept : beginning(message)) + "\n";
  }
  std::string text = raw(path);
  const std::size_t first = text.find(kMark);
  for (const std::string& each : old) text.erase(text.find(kMark), kMark.size() + each.size() + 1);
  rewrite(path, text.insert(first, expected));
}

}  // namespace stagecraft::refusals
