#include "experiments/study/overrides.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <charconv>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

/// A path, and the length of its part that has been followed so far.
struct Walk {
  std::string_view path;
  std::size_t walked = 0;

  [[nodiscard]] std::string_view rest() const { return path.substr(walked); }
  [[nodiscard]] bool is_done() const { return walked == path.size(); }
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const {
    std::string there(path.substr(0, walked));
    if (there.ends_with('.')) there.pop_back();
    throw InputError(message, {"", 0, 0, std::move(there)}, hint);
  }
};

/// Whether `name` is the next step of the path: after it the path ends, or goes on with `.` or `[`.
bool continues_with(std::string_view rest, const std::string& name) {
  if (!rest.starts_with(name)) return false;
  return rest.size() == name.size() || rest[name.size()] == '.' || rest[name.size()] == '[';
}

/// Follows the next name of the path. If no key fits and the rest of the path is one name, adds that key.
Detail& step_into(Detail::Record& record, Walk& walk) {
  if (walk.rest().starts_with('.')) ++walk.walked;
  const std::string_view rest = walk.rest();
  Detail* best = nullptr;
  std::size_t length = 0;
  for (auto& [name, value] : record) {
    if (!continues_with(rest, name) || (best != nullptr && name.size() < length)) continue;
    best = &value;
    length = name.size();
  }
  if (best != nullptr) {
    walk.walked += length;
    return *best;
  }
  const std::string name(rest.substr(0, rest.find_first_of(".[")));
  if (name.empty() || name.size() < rest.size()) {
    std::vector<std::string> known;
    for (const auto& [key, value] : record) known.push_back(key);
    walk.fail("there is no key " + quote(name) + " here", suggest_name(name, known));
  }
  walk.walked = walk.path.size();
  return record.emplace_back(name, Detail()).second;
}

Detail& step_into(Detail::List& list, Walk& walk) {
  const std::string_view rest = walk.rest();
  const std::size_t close = rest.find(']');
  if (rest.starts_with('[') && close != std::string_view::npos) {
    const std::string_view digits = rest.substr(1, close - 1);
    std::size_t position = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), position);
    if (problem == std::errc() && end == digits.data() + digits.size() && position < list.size()) {
      walk.walked += close + 1;
      return list[position];
    }
  }
  walk.fail("expected the position of one of the " + std::to_string(list.size()) + " items here, such as [0]");
}

}  // namespace

void set_value(Detail& root, std::string_view path, const Detail& value) {
  Walk walk{path};
  Detail* at = &root;
  do {
    if (auto* record = std::get_if<Detail::Record>(&at->value)) {
      at = &step_into(*record, walk);
    } else if (auto* list = std::get_if<Detail::List>(&at->value)) {
      at = &step_into(*list, walk);
    } else {
      walk.fail("there is a single value here, and nothing below it");
    }
  } while (!walk.is_done());
  *at = value;
}

}  // namespace stagecraft
