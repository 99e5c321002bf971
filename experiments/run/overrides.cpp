#include "experiments/run/overrides.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/yaml_values.hpp"

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
  /// Where the walk has come to, for a message.
  [[nodiscard]] std::string here() const {
    std::string_view there = path.substr(0, walked);
    if (there.ends_with('.')) there.remove_suffix(1);
    return there.empty() ? "the file" : quote(there);
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
    throw InputError("there is no key " + quote(name) + " in " + walk.here(), {}, suggest_name(name, known));
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
  throw InputError("expected the position of one of the " + counted(list.size(), "item") + " of " + walk.here() +
                   ", such as [0]");
}

/// What is wrong with the value at `path`, and where, if that is not on the way to it.
std::string message_for(const std::string& path, const InputError& error) {
  const std::string& key = error.place().key;
  return (path.starts_with(key) ? "" : key + ": ") + error.message();
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
      throw InputError(walk.here() + " is a single value, and nothing is below it");
    }
  } while (!walk.is_done());
  *at = value;
}

std::string overridden(const FileText& file, const FileValues& values, const std::string& option) {
  if (values.empty()) return file.text;
  Detail content = read_detail(parse_yaml(file.text, file.path));
  for (const auto& [path, value] : values) {
    try {
      set_value(content, path, value);
    } catch (const InputError& error) {
      throw InputError(error.message(), {"", 0, 0, option + path}, error.hint());
    }
  }
  return to_json(content, -1);
}

void refuse_values(const FileText& file, const FileValues& values, const std::string& option,
                   const std::function<void(const std::string& text)>& check) {
  check(file.text);
  FileValues some;
  for (const auto& value : values) {
    some.push_back(value);
    try {
      check(overridden(file, some, option));
    } catch (const InputError& error) {
      throw InputError(message_for(value.first, error), {"", 0, 0, option + value.first}, error.hint());
    }
  }
  throw InternalError("values of " + quote(file.path) + " are refused, and none of them is to blame");
}

}  // namespace stagecraft
