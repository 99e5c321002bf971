#include "sim/io/yaml_node.hpp"

#include "sim/base/text.hpp"
#include "sim/io/yaml_document.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

std::string describe(const RawNode& node) {
  switch (node.kind) {
    case YamlKind::Nothing: return "nothing";
    case YamlKind::Text: return quote(node.text);
    case YamlKind::List: return "a list";
    case YamlKind::Map: return "a map";
  }
  return "";
}

}  // namespace

YamlNode::YamlNode(std::shared_ptr<const YamlDocument> document, std::size_t index, std::string key)
    : document_(std::move(document)), index_(index), key_(std::move(key)) {}

YamlKind YamlNode::kind() const { return document_->nodes[index_].kind; }

InputPlace YamlNode::place() const {
  const RawNode& node = document_->placed_node(index_);
  return {document_->file, node.line, node.column, key_};
}

std::uint64_t YamlNode::size() const { return document_->nodes[index_].size; }

const std::string& YamlNode::text() const {
  if (kind() != YamlKind::Text) fail_expected("a value");
  return document_->nodes[index_].text;
}

bool YamlNode::is_quoted() const { return document_->nodes[index_].quoted; }

std::vector<YamlNode> YamlNode::items() const {
  if (kind() != YamlKind::List) fail_expected("a list");
  std::vector<YamlNode> result;
  const std::vector<std::size_t>& children = document_->nodes[index_].children;
  result.reserve(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    result.emplace_back(document_, children[i], key_ + "[" + std::to_string(i) + "]");
  }
  return result;
}

std::vector<std::pair<std::string, YamlNode>> YamlNode::entries() const {
  if (kind() != YamlKind::Map) fail_expected("a map of keys and values");
  std::vector<std::pair<std::string, YamlNode>> result;
  const std::vector<std::size_t>& children = document_->nodes[index_].children;
  for (std::size_t i = 0; i + 1 < children.size(); i += 2) {
    const std::string& name = document_->nodes[children[i]].text;
    result.emplace_back(name, YamlNode(document_, children[i + 1], key_of(name)));
  }
  return result;
}

std::optional<YamlNode> YamlNode::find(std::string_view name) const {
  if (kind() != YamlKind::Map) fail_expected("a map of keys and values");
  const std::vector<std::size_t>& children = document_->nodes[index_].children;
  for (std::size_t i = 0; i + 1 < children.size(); i += 2) {
    if (document_->nodes[children[i]].text == name) return YamlNode(document_, children[i + 1], key_of(name));
  }
  return std::nullopt;
}

YamlNode YamlNode::at(std::string_view name) const {
  std::optional<YamlNode> found = find(name);
  if (!found) fail("the key " + quote(name) + " is missing");
  return *std::move(found);
}

void YamlNode::allow_keys(std::initializer_list<std::string_view> known,
                          const std::function<std::string(const std::string&)>& hint) const {
  if (kind() != YamlKind::Map) fail_expected("a map of keys and values");
  const std::vector<std::size_t>& children = document_->nodes[index_].children;
  for (std::size_t i = 0; i + 1 < children.size(); i += 2) {
    const RawNode& key = document_->nodes[children[i]];
    if (std::ranges::find(known, key.text) != known.end()) continue;
    const std::string given = hint ? hint(key.text) : "";
    const RawNode& placed = document_->placed_node(children[i]);
    throw InputError("unknown key " + quote(key.text), {document_->file, placed.line, placed.column, key_},
                     given.empty() ? suggest_name(key.text, {known.begin(), known.end()}) : given);
  }
}

void YamlNode::fail(const std::string& message, const std::string& hint) const {
  throw InputError(message, place(), hint);
}

void YamlNode::fail_expected(std::string_view expected, const std::string& hint) const {
  fail("expected " + std::string(expected) + ", found " + describe(document_->nodes[index_]), hint);
}

std::string YamlNode::key_of(std::string_view name) const {
  // A key with control characters, or a long one, is shown as a message would show it.
  const bool is_plain =
      name.size() <= 80 && std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
  const std::string shown = is_plain ? std::string(name) : quote(name);
  return key_.empty() ? shown : key_ + "." + shown;
}

}  // namespace stagecraft
