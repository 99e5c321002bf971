#include "experiments/run/set_items.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

/// Tells what a value's characters mean: whether they lie within brackets or quotes, as YAML writes lists and texts.
class ValueScan {
 public:
  /// Takes the next character. Returns whether it lies outside of brackets and quotes.
  bool takes(char c) {
    const bool may_open = may_open_;
    may_open_ = (may_open && c == ' ') || (depth_ > 0 && std::string_view("[{,:").find(c) != std::string_view::npos);
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (quote_ != '\0') {
      is_escaped_ = quote_ == '"' && c == '\\';
      if (c == quote_) {
        may_open_ = c == '\'';  // '' within quotes is one
        quote_ = '\0';
      }
    } else if ((c == '"' || c == '\'') && may_open) {
      quote_ = c;
    } else if ((c == '[' || c == '{') && (may_open || depth_ > 0)) {
      ++depth_;
      may_open_ = true;
    } else if ((c == ']' || c == '}') && depth_ > 0) {
      --depth_;
    } else {
      return depth_ == 0;
    }
    return false;
  }

 private:
  int depth_ = 0;
  char quote_ = '\0';
  bool may_open_ = true;  ///< a quote or a bracket here begins a text or a list
  bool is_escaped_ = false;
};

/// Where the next item begins after a comma.
std::size_t after_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(' ', at), text.size());
}

/// Where the value that begins at `at` ends: at a comma before a known name, or at the end of the text.
std::size_t value_end(std::string_view text, std::size_t at, const NameLength& name_length) {
  ValueScan scan;
  for (; at < text.size(); ++at) {
    if (!scan.takes(text[at]) || text[at] != ',') continue;
    if (name_length(text.substr(after_blanks(text, at + 1))) > 0) return at;
  }
  return at;
}

}  // namespace

std::size_t length_before_equals(std::string_view text, const std::function<bool(std::string_view name)>& is_name) {
  const std::size_t length = text.find('=');
  if (length == std::string_view::npos) return 0;
  const std::string_view name = text.substr(0, length);
  return name.find(',') == std::string_view::npos && is_name(name) ? length : 0;
}

std::vector<SetItem> set_items(const std::vector<std::string>& texts, const NameLength& name_length) {
  std::vector<SetItem> items;
  for (const std::string& whole : texts) {
    for (std::string_view text = whole;;) {
      std::size_t length = name_length(text);
      if (length == 0) length = text.find('=');
      if (length == std::string_view::npos || length == 0) {
        throw InputError("expected NAME=VALUE, found " + quote(text), {"", 0, 0, "--set"});
      }
      const std::size_t end = value_end(text, length + 1, name_length);
      SetItem& item = items.emplace_back(std::string(text.substr(0, length)),
                                         std::string(text.substr(length + 1, end - length - 1)));
      if (item.value.empty()) throw InputError("expected a value, found nothing", {"", 0, 0, item.option()});
      if (end == text.size()) break;
      text.remove_prefix(after_blanks(text, end + 1));
    }
  }
  return items;
}

}  // namespace stagecraft
