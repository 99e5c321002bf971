#pragma once

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <string>

namespace stagecraft::testing {

/// A JSON Schema that stands alone, and a library that knows what it says.
class SchemaValidator {
 public:
  explicit SchemaValidator(const nlohmann::json& schema) {
    valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(schema), schema_);
  }

  /// The first problem with its place; empty if there are none.
  [[nodiscard]] std::string refusal(const nlohmann::json& value) {
    valijson::ValidationResults results;
    if (validator_.validate(schema_, valijson::adapters::NlohmannJsonAdapter(value), &results)) return "";
    valijson::ValidationResults::Error error;
    REQUIRE(results.popError(error));
    std::string place;
    for (const std::string& part : error.context) place += part;
    return place + ": " + error.description;
  }

 private:
  valijson::Schema schema_;
  valijson::Validator validator_;  // keeps the expressions of patterns
};

}  // namespace stagecraft::testing
