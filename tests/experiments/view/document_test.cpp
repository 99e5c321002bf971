#include "experiments/view/document.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

Document hostile() {
  Section section;
  section.heading = "<script>alert(1)</script>";
  section.sentences = {"a | b\n# c", "it's \"so\" & so"};
  section.table = Table{{"<b>", "n"}, {{"x|y\n|z|", "1"}, {"**bold** _it_ `code` [l](u) <img src=x>", "2"}}, 1};
  section.strong_rows = {0};
  section.items = {"</ul><script>", "\x1b[31mred\x1b[0m \xff"};
  return {"T <title>", {section}};
}

TEST_CASE("document: plain text shows control characters instead of obeying them") {
  CHECK(to_text(hostile()) == R"(T <title>

<script>alert(1)</script>
a | b\n# c
it's "so" & so
<b>                                      n
x|y\n|z|                                 1
**bold** _it_ `code` [l](u) <img src=x>  2
- </ul><script>
- \x1b[31mred\x1b[0m \xff
)");
}

TEST_CASE("document: Markdown takes no name for markup") {
  CHECK(to_markdown(hostile()) == R"(# T \<title\>

## \<script\>alert(1)\</script\>

a \| b\\n\# c

it's "so" \& so

| \<b\> | n |
| --- | ---: |
| **x\|y\\n\|z\|** | 1 |
| \*\*bold\*\* \_it\_ \`code\` \[l\](u) \<img src=x\> | 2 |

- \</ul\>\<script\>
- \\x1b\[31mred\\x1b\[0m \\xff
)");
}

TEST_CASE("document: what is empty leaves no trace") {
  const Document document{"T", {{.heading = "", .sentences = {"s"}, .table = {}, .items = {}}}};
  CHECK(to_text(document) == "T\ns\n");
  CHECK(to_markdown(document) == "# T\n\ns\n");
  CHECK(one_line("ä\tb\u2028") == "ä\\tb\\xe2\\x80\\xa8");
}

}  // namespace
}  // namespace stagecraft
