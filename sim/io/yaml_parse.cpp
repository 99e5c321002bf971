#include "sim/base/text.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_document.hpp"

#include <nlohmann/json.hpp>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <unordered_map>

namespace stagecraft {
namespace {

constexpr std::size_t kDeepest = 100;
constexpr int kDeepestAlias = 8;
constexpr std::uint64_t kMostNodes = 10'000'000;            ///< of a file
constexpr std::size_t kLargestKept = std::size_t{1} << 20;  ///< bytes of a text whose document is kept
constexpr std::uint64_t kMostAliased = 1'000'000;           ///< nodes that aliases add: readers make a copy of each
constexpr std::uint64_t kMostAliasedText = 16ULL << 20;     ///< bytes of text that aliases add

constexpr const char* kAliasHint = "the content of an alias counts each time it is used";

bool is_name(const std::string& text) {
  return !text.empty() && std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

/// Whether the text has control characters beyond ASCII, which readers of YAML and JSON treat differently. Those of
/// ASCII are refused later, for values that may not have them.
bool has_foreign_control(const std::string& text) {
  std::string beyond = text;
  std::erase_if(beyond, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return has_control_characters(beyond);
}

/// The most characters that the text takes between quotes.
std::size_t written_length(const std::string& text) {
  std::size_t length = 0;
  for (char c : text) length += c == '"' || c == '\\' ? 2 : static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? 6 : 1;
  return length;
}

/// Builds the document from yaml-cpp's events. It refuses several things that yaml-cpp's own tree would silently
/// accept.
class DocumentBuilder : public YAML::EventHandler {
 public:
  explicit DocumentBuilder(YamlDocument& document) : document_(&document) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) fail(mark, "expected one document, found a second one after '---'");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const std::size_t index = add(mark, "?", anchor, YamlKind::Nothing);
    place_at_key(document_->nodes[index]);
    complete(index);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (has_foreign_control(value)) fail(mark, "expected text without Unicode control characters");
    const std::size_t index = add(mark, tag, anchor, YamlKind::Text);
    document_->nodes[index].text = value;
    document_->nodes[index].text_size = value.size();
    document_->nodes[index].quoted = tag == "!";
    written_text_ += value.size();
    complete(index);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const std::size_t index = anchors_.at(anchor);
    const RawNode& target = document_->nodes[index];
    if (!target.complete) fail(mark, "an alias must not refer to a node that contains it");
    if (target.alias_depth >= kDeepestAlias) {
      fail(mark, "aliases are nested more than " + std::to_string(kDeepestAlias) + " deep");
    }
    attach(index, target.alias_depth + 1, mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, add(mark, tag, anchor, YamlKind::List));
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, add(mark, tag, anchor, YamlKind::Map));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override {
    check_keys(document_->nodes[open_.back()]);
    close();
  }

  [[nodiscard]] int documents() const { return documents_; }

 private:
  std::size_t add(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlKind kind) {
    if (!tag.empty() && tag != "?" && tag != "!") fail(mark, "tags are not supported, found " + quote(tag));
    RawNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    document_->nodes.push_back(std::move(node));
    const std::size_t index = document_->nodes.size() - 1;
    if (anchor != YAML::NullAnchor) anchors_[anchor] = index;
    return index;
  }

  /// Moves a missing value to its key. The parser has it where the next word is, which may be lines below.
  void place_at_key(RawNode& missing) const {
    if (open_.empty()) return;
    const RawNode& parent = document_->nodes[open_.back()];
    if (parent.kind != YamlKind::Map || parent.children.size() % 2 == 0) return;
    const RawNode& key = document_->nodes[parent.children.back()];
    if (missing.line == key.line) return;  // written out: `null` or `~`, or in braces
    missing.line = key.line;
    missing.column = key.column;
  }

  void open(const YAML::Mark& mark, std::size_t index) {
    if (open_.size() >= kDeepest) fail(mark, "nested more than " + std::to_string(kDeepest) + " deep");
    open_.push_back(index);
  }
  void close() {
    const std::size_t index = open_.back();
    open_.pop_back();
    complete(index);
  }
  void complete(std::size_t index) {
    RawNode& node = document_->nodes[index];
    node.complete = true;
    attach(index, node.alias_depth, {node.line, node.column});
  }

  void attach(std::size_t index, int alias_depth, const YAML::Mark& mark) {
    attach(index, alias_depth, std::pair(mark.line + 1, mark.column + 1));
  }
  void attach(std::size_t index, int alias_depth, std::pair<int, int> at) {
    if (open_.empty()) {
      document_->root = index;
      return;
    }
    RawNode& parent = document_->nodes[open_.back()];
    parent.children.push_back(index);
    parent.alias_depth = std::max(parent.alias_depth, alias_depth);
    parent.size += document_->nodes[index].size;
    parent.text_size += document_->nodes[index].text_size;
    check_size(parent, at);
  }

  /// Limits what aliases add: without aliases, a node is never larger than all nodes written so far.
  void check_size(const RawNode& node, std::pair<int, int> at) const {
    const std::uint64_t written = document_->nodes.size();
    if (written > kMostNodes) fail_at(at.first, at.second, "the file has more than ten million nodes");
    if (node.size > written + kMostAliased) {
      fail_at(at.first, at.second, "aliases add more than a million nodes to the file", kAliasHint);
    }
    if (node.text_size > written_text_ + kMostAliasedText) {
      fail_at(at.first, at.second, "aliases add more than 16 MiB of text to the file", kAliasHint);
    }
  }

  void check_keys(const RawNode& map) {
    std::unordered_map<std::string_view, const RawNode*> seen;
    for (std::size_t i = 0; i < map.children.size(); i += 2) {
      const RawNode& key = document_->nodes[map.children[i]];
      if (key.kind != YamlKind::Text || !is_name(key.text)) fail_at(key.line, key.column, "expected a name as key");
      if (!fits_as_key(key.text)) {
        fail_at(key.line, key.column, "a key has at most " + std::to_string(kLongestKey) + " characters");
      }
      if (key.text == "<<" && !key.quoted) {
        fail_at(key.line, key.column, "merge keys are not supported", "write the keys out");
      }
      const auto [first, is_new] = seen.emplace(key.text, &key);
      if (!is_new) {
        fail_at(key.line, key.column,
                "the key " + quote(key.text) + " is given twice, first in line " + std::to_string(first->second->line));
      }
    }
  }

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& message) const {
    fail_at(mark.line + 1, mark.column + 1, message);
  }
  [[noreturn]] void fail_at(int line, int column, const std::string& message, const std::string& hint = {}) const {
    throw InputError(message, {document_->file, line, column, ""}, hint);
  }

  YamlDocument* document_;
  std::vector<std::size_t> open_;  ///< lists and maps being read, the innermost last
  std::map<YAML::anchor_t, std::size_t> anchors_;
  std::uint64_t written_text_ = 0;  ///< bytes
  int documents_ = 0;
};

/// Builds the document from the events of a JSON text, as they would be those of YAML, without places. It ends where
/// the two might differ.
class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonEvents(DocumentBuilder& builder) : builder_(builder) { builder_.OnDocumentStart(nowhere_); }

  bool null() override {
    builder_.OnNull(nowhere_, YAML::NullAnchor);
    return true;
  }
  bool boolean(bool value) override { return plain(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override { return value != 0 && plain(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) override { return plain(std::to_string(value)); }
  bool number_float(double, const std::string& text) override { return plain(text); }
  bool string(std::string& text) override { return quoted(text); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    builder_.OnMapStart(nowhere_, "?", YAML::NullAnchor, YAML::EmitterStyle::Flow);
    return true;
  }
  bool key(std::string& text) override { return quoted(text); }
  bool end_object() override {
    builder_.OnMapEnd();
    return true;
  }
  bool start_array(std::size_t) override {
    builder_.OnSequenceStart(nowhere_, "?", YAML::NullAnchor, YAML::EmitterStyle::Flow);
    return true;
  }
  bool end_array() override {
    builder_.OnSequenceEnd();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  bool plain(const std::string& text) {
    builder_.OnScalar(nowhere_, "?", YAML::NullAnchor, text);
    return true;
  }
  bool quoted(const std::string& text) {
    builder_.OnScalar(nowhere_, "!", YAML::NullAnchor, text);
    return true;
  }

  DocumentBuilder& builder_;
  YAML::Mark nowhere_ = YAML::Mark::null_mark();
};

/// The document of a JSON text, without places; null for anything that is not plainly one.
std::shared_ptr<YamlDocument> read_json(std::string_view text, const std::string& file_name) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return nullptr;
  auto document = std::make_shared<YamlDocument>();
  document->file = file_name;
  DocumentBuilder builder(*document);
  JsonEvents events(builder);
  try {
    if (!nlohmann::json::sax_parse(text, &events)) return nullptr;
  } catch (const InputError&) {  // it has no place yet
    return nullptr;
  }
  document->has_places = false;
  return document;
}

std::shared_ptr<YamlDocument> read_yaml(std::string_view text, const std::string& file_name) {
  auto document = std::make_shared<YamlDocument>();
  document->file = file_name;
  std::istringstream stream{std::string(text)};
  DocumentBuilder builder(*document);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    throw InputError("is not valid YAML: " + error.msg, {file_name, error.mark.line + 1, error.mark.column + 1, ""});
  }
  if (builder.documents() == 0 || document->nodes[document->root].kind == YamlKind::Nothing) {
    throw InputError("the file is empty", {file_name, 1, 1, ""});
  }
  return document;
}

/// The place of a text among those that were read last: a command reads a text several times, and a served one reads
/// that of the command before. The place of a text that is not there is empty; the one not used for longest gives way.
std::shared_ptr<const YamlDocument>& recent_place(std::string_view text, const std::string& file_name) {
  static std::array<std::shared_ptr<const YamlDocument>, 8> recent;
  const auto is_same = [&](const auto& document) {
    return document && document->file == file_name && document->text == text;
  };
  auto found = std::ranges::find_if(recent, is_same);
  if (found == recent.end()) {
    recent.back().reset();
    --found;
  }
  std::rotate(recent.begin(), found, found + 1);
  return recent.front();
}

}  // namespace

bool fits_as_key(const std::string& text) { return written_length(text) <= kLongestKey; }

const RawNode& YamlDocument::placed_node(std::size_t index) const {
  if (!has_places && !placed) {
    try {
      placed = read_yaml(text, file);
    } catch (const InputError&) {  // YAML lacks some escapes of JSON
      placed = std::make_shared<const YamlDocument>();
    }
  }
  return placed && placed->nodes.size() == nodes.size() ? placed->nodes[index] : nodes[index];
}

YamlNode parse_yaml(std::string_view text, const std::string& file_name) {
  std::shared_ptr<const YamlDocument>& recent = recent_place(text, file_name);
  if (!recent) {
    check_text(text, file_name);
    std::shared_ptr<YamlDocument> document = read_json(text, file_name);
    if (!document) document = read_yaml(text, file_name);
    document->text = text;
    if (text.size() > kLargestKept) return {document, document->root, ""};
    recent = document;
  }
  return {recent, recent->root, ""};
}

}  // namespace stagecraft
