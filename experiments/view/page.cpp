#include "experiments/view/page.hpp"

#include "experiments/view/built_pages.hpp"
#include "sim/io/json.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace stagecraft {

void write_page(Page page, Detail::Record data, const TextSink& sink) {
  constexpr std::string_view kMark = "@DATA@";
  const std::string_view built = page == Page::Run ? kBuiltRunPage : kBuiltStudyPage;
  const std::string json = to_json(Detail(std::move(data)), -1);
  const std::size_t mark = built.find(kMark);
  sink(built.substr(0, mark));
  for (std::string_view left = json; !left.empty();) {
    const std::size_t bracket = std::min(left.find('<'), left.size());
    sink(left.substr(0, bracket));
    if (bracket < left.size()) sink("\\u003c");  // in JSON it occurs only in strings
    left.remove_prefix(std::min(bracket + 1, left.size()));
  }
  sink(built.substr(mark + kMark.size()));
}

}  // namespace stagecraft
