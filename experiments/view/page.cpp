#include "experiments/view/page.hpp"

#include "experiments/view/built_pages.hpp"
#include "sim/io/json.hpp"

#include <string_view>

namespace stagecraft {

std::string with_data(Page page, const Detail::Record& data) {
  constexpr std::string_view kMark = "@DATA@";
  const std::string_view built = page == Page::Run ? kBuiltRunPage : kBuiltStudyPage;
  const std::string json = to_json(Detail(data), -1);
  const std::size_t mark = built.find(kMark);
  std::string text(built.substr(0, mark));
  text.reserve(built.size() + json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";  // in JSON it occurs only in strings
    } else {
      text += c;
    }
  }
  text += built.substr(mark + kMark.size());
  return text;
}

}  // namespace stagecraft
