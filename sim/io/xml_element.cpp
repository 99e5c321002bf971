#include "sim/io/xml_element.hpp"

#include "sim/base/text.hpp"
#include "sim/io/text_file.hpp"

#include <pugixml.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stagecraft {

struct XmlElement::Document {
  std::string file;
  pugi::xml_document xml;
  std::vector<std::size_t> line_starts;

  Document(std::string_view text, std::string name) : file(std::move(name)), line_starts{0} {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') line_starts.push_back(i + 1);
    }
  }

  [[nodiscard]] InputPlace place(std::size_t offset, const std::string& key) const {
    const auto next = std::ranges::upper_bound(line_starts, offset);
    const auto line = static_cast<int>(next - line_starts.begin());
    return {file, line, static_cast<int>(offset - *std::prev(next)) + 1, key};
  }
};

struct XmlElement::Node {
  pugi::xml_node xml;
};

XmlElement::XmlElement(std::shared_ptr<const Document> document, std::shared_ptr<const Node> node)
    : document_(std::move(document)), node_(std::move(node)) {}

XmlElement XmlElement::parse(std::string_view text, const std::string& file_name) {
  check_text(text, file_name);
  auto document = std::make_shared<Document>(text, file_name);
  const pugi::xml_parse_result result =
      document->xml.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  const auto refuse = [&](const std::string& found, std::size_t offset) {
    throw InputError("expected XML, found: " + found, document->place(std::min(offset, text.size()), ""));
  };
  if (!result) refuse(result.description(), static_cast<std::size_t>(result.offset));
  const pugi::xml_node root = document->xml.document_element();
  for (pugi::xml_node other = root.next_sibling(); other; other = other.next_sibling()) {
    if (other.type() == pugi::node_element) {
      refuse("a second root, <" + std::string(other.name()) + ">", static_cast<std::size_t>(other.offset_debug()));
    }
  }
  return {document, std::make_shared<const Node>(root)};
}

std::string XmlElement::name() const { return node_->xml.name(); }

std::vector<XmlElement> XmlElement::children() const {
  std::vector<XmlElement> elements;
  for (const pugi::xml_node child : node_->xml.children()) {
    if (child.type() == pugi::node_element) elements.push_back({document_, std::make_shared<const Node>(child)});
  }
  return elements;
}

std::optional<std::string> XmlElement::find(const char* attribute) const {
  const pugi::xml_attribute found = node_->xml.attribute(attribute);
  if (!found) return std::nullopt;
  return found.value();
}

std::string XmlElement::at(const char* attribute) const {
  auto value = find(attribute);
  if (!value) fail("expected the attribute '" + std::string(attribute) + "' of <" + name() + ">, found none");
  return *std::move(value);
}

std::optional<std::int64_t> XmlElement::find_count(const char* attribute, std::int64_t least, std::int64_t most) const {
  const auto value = find(attribute);
  if (!value) return std::nullopt;
  const auto count = parse_count(*value);
  if (!count || *count.value < least || *count.value > most) {
    fail("expected a whole number from " + std::to_string(least) + " to " + std::to_string(most) + ", found " +
             quote(*value),
         {}, attribute);
  }
  return count.value;
}

InputPlace XmlElement::place(const std::string& key) const {
  return document_->place(static_cast<std::size_t>(std::max<std::ptrdiff_t>(node_->xml.offset_debug(), 0)), key);
}

void XmlElement::fail(const std::string& message, const std::string& hint, const std::string& key) const {
  throw InputError(message, place(key), hint);
}

}  // namespace stagecraft
