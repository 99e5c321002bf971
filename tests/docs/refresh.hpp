#pragma once

#include <functional>
#include <string>

namespace stagecraft::test {

/// `<!-- KIND: ARGUMENT -->`, up to `<!-- / -->`: a part of a page that is made, not typed.
struct Mark {
  std::string kind;
  std::string argument;
  std::string content;  ///< what stands there now
};

/// What stands between a mark and its end. **Throws** std::exception if the mark cannot be filled.
using Fill = std::function<std::string(const Mark& mark)>;

/// The page as it should be: below each command of a `console` block its output, and in each mark its content. Blocks
/// that are files are written first, and all commands of a page run in one folder. A block is a file if its fence says
/// ```LANGUAGE file=NAME or its first line is `# file: NAME`. Blocks `console python3` stay as they are where there is
/// no Python. Marks in blocks are text. `page` is the page's name, for messages.
/// **Throws** InputError, with the page and the line.
[[nodiscard]] std::string refreshed(const std::string& page, const std::string& text, const Fill& fill);

}  // namespace stagecraft::test
