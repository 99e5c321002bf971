#include "experiments/view/document.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace stagecraft {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Document hostile() {
  Section section;
  section.heading = "<script>alert(1)</script>";
  section.sentences = {"a | b\n# c", "it's \"so\" & so"};
  section.table = Table{{"<b>", "n"}, {{"x|y\n|z|", "1"}, {"**bold** _it_ `code` [l](u) <img src=x>", "2"}}, 1};
  section.strong_rows = {0};
  section.weak_rows = {1};
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

TEST_CASE("document: HTML escapes everything and needs nothing else") {
  const std::string html = to_html(hostile());
  for (const char* refused : {"<script", "<img", "<b>", "src=", "href", "http", "\x1b", "\xff", "onerror", "@import"}) {
    CAPTURE(refused);
    const bool is_escaped = std::string(refused) == "src=";  // stands there as text, inside &lt; and &gt;
    CHECK(has(html, refused) == is_escaped);
  }
  CHECK(has(html, "<h2>&lt;script&gt;alert(1)&lt;/script&gt;</h2>\n"));
  CHECK(has(html, "<p>it&#39;s &quot;so&quot; &amp; so</p>\n"));
  CHECK(has(html, R"(<tr class="strong"><td class="left">x|y\n|z|</td><td>1</td></tr>)"));
  CHECK(has(html, R"(<tr class="weak"><td class="left">**bold** _it_ `code` [l](u) &lt;img src=x&gt;</td>)"));
  CHECK(has(html, "<title>T &lt;title&gt;</title>"));
  for (const char* tag : {"table", "thead", "tbody", "ul", "li", "h1", "h2", "p", "style", "body", "html", "head"}) {
    CAPTURE(tag);
    CHECK(has(html, std::string("</") + tag + ">"));
  }
}

TEST_CASE("document: what is empty leaves no trace") {
  const Document document{"T", {{.heading = "", .sentences = {"s"}, .table = {}, .items = {}}}};
  CHECK(to_text(document) == "T\ns\n");
  CHECK(to_markdown(document) == "# T\n\ns\n");
  CHECK_FALSE(has(to_html(document), "<ul>"));
  CHECK(one_line("ä\tb\u2028") == "ä\\tb\\xe2\\x80\\xa8");
}

}  // namespace
}  // namespace stagecraft
