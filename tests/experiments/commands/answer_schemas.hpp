#pragma once

#include "tests/schema_validator.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace stagecraft::test {

/// The schemas of answers, and which of their properties some answer has. A property is called
/// SCHEMA.DEFINITION.PROPERTY, or SCHEMA.PROPERTY if the answer itself has it. Plans count as a whole.
class AnswerSchemas {
 public:
  AnswerSchemas();

  [[nodiscard]] std::vector<std::string> names() const;
  /// The first problem of a JSON text with its place; empty if there are none. Its properties count.
  [[nodiscard]] std::string refusal(const std::string& schema, const std::string& answer);
  /// The properties that no answer had so far.
  [[nodiscard]] std::set<std::string> missing() const;

 private:
  std::map<std::string, testing::SchemaValidator> validators_;
  std::set<std::string> found_;
};

}  // namespace stagecraft::test
