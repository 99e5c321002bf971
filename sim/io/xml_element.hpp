#pragma once

#include "sim/base/error.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// A cursor over an element of an XML file; it knows its place in the text.
class XmlElement {
 public:
  /// The root of a text. **Throws** InputError, naming the line, where it is not well-formed XML.
  [[nodiscard]] static XmlElement parse(std::string_view text, const std::string& file_name);

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::vector<XmlElement> children() const;
  [[nodiscard]] std::optional<std::string> find(const char* attribute) const;
  /// **Throws** InputError if it is not there.
  [[nodiscard]] std::string at(const char* attribute) const;
  /// A whole number in a range. **Throws** InputError for anything else.
  [[nodiscard]] std::optional<std::int64_t> find_count(const char* attribute, std::int64_t least,
                                                       std::int64_t most) const;
  [[nodiscard]] InputPlace place(const std::string& key = {}) const;
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}, const std::string& key = {}) const;

 private:
  struct Document;
  struct Node;
  XmlElement(std::shared_ptr<const Document> document, std::shared_ptr<const Node> node);

  std::shared_ptr<const Document> document_;
  std::shared_ptr<const Node> node_;
};

}  // namespace stagecraft
