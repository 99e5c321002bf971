#include "sim/io/yaml_values.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

/// The scalar's text; a list, a map or nothing is reported as not being `expected`.
const std::string& scalar(const YamlNode& node, std::string_view expected) {
  if (node.kind() != YamlKind::Text) node.fail_expected(expected);
  return node.text();
}

template <class T>
T value_of(const YamlNode& node, const Parsed<T>& parsed) {
  if (!parsed) node.fail(parsed.problem, parsed.hint);
  return *parsed.value;
}

Detail detail_of(const YamlNode& node) {
  switch (node.kind()) {
    case YamlKind::Nothing: return {};
    case YamlKind::List: {
      Detail::List list;
      for (const YamlNode& item : node.items()) list.push_back(detail_of(item));
      return list;
    }
    case YamlKind::Map: {
      Detail::Record record;
      for (const auto& [name, value] : node.entries()) record.emplace_back(name, detail_of(value));
      return record;
    }
    case YamlKind::Text: break;
  }
  const std::string& text = node.text();
  if (node.is_quoted()) return text;
  if (text == "true" || text == "false") return text == "true";
  const std::string_view magnitude = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
  const bool is_negative = magnitude.size() < text.size();
  if (const auto count = parse_count(magnitude)) return is_negative ? -*count.value : *count.value;
  if (const auto number = parse_number(magnitude)) return is_negative ? -*number.value : *number.value;
  return text;
}

}  // namespace

Seconds read_seconds(const YamlNode& node) {
  return value_of(node, parse_seconds(scalar(node, "a time with its unit, such as '1.5 ms'")));
}

Seconds read_moment(const YamlNode& node) {
  const Seconds time = read_seconds(node);
  if (time > Seconds(1e12)) node.fail_expected("a time of at most 1e12 s");
  return time;
}

Bytes read_bytes(const YamlNode& node) {
  return value_of(node, parse_bytes(scalar(node, "a size with its unit, such as '16 GiB'")));
}

BytesPerSecond read_bandwidth(const YamlNode& node) {
  const auto value = value_of(node, parse_bandwidth(scalar(node, "a bandwidth with its unit, such as '25 GBps'")));
  if (!(value > BytesPerSecond(0))) node.fail_expected("a bandwidth of more than zero");
  return value;
}

FlopsPerSecond read_flops_rate(const YamlNode& node) {
  const auto value = value_of(node, parse_flops_rate(scalar(node, "a computing rate, such as '15.7 TFLOPS'")));
  if (!(value > FlopsPerSecond(0))) node.fail_expected("a computing rate of more than zero");
  if (value > FlopsPerSecond(1e21)) node.fail_expected("a computing rate of at most 1000000 PFLOPS");
  return value;
}

double read_number(const YamlNode& node) {
  return value_of(node, parse_number(scalar(node, "a bare number of at least 0, such as '1.5'")));
}

double read_positive_number(const YamlNode& node) {
  const double value = read_number(node);
  if (!(value > 0.0)) node.fail_expected("a number of more than zero");
  return value;
}

std::int64_t read_count(const YamlNode& node, std::int64_t least, std::int64_t most) {
  const std::string expected = "a whole number of at least " + std::to_string(least);
  const Parsed<std::int64_t> parsed = parse_count(scalar(node, expected));
  if (!parsed) node.fail_expected(expected, parsed.hint);
  const std::int64_t value = *parsed.value;
  if (value < least) node.fail_expected(expected);
  if (value > most) node.fail_expected("a whole number of at most " + std::to_string(most));
  return value;
}

bool read_bool(const YamlNode& node) { return read_choice<bool>(node, {{"true", true}, {"false", false}}); }

std::string read_text(const YamlNode& node) {
  const std::string& text = scalar(node, "text");
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t'; };
  if (std::ranges::any_of(text, is_control)) node.fail_expected("text without control characters");
  return text;
}

std::string read_name(const YamlNode& node) {
  const std::string& name = scalar(node, "a name");
  if (name.empty()) node.fail_expected("a name");
  if (std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
    node.fail_expected("a name without control characters");
  }
  return name;
}

std::string read_key_name(const YamlNode& node) {
  std::string name = read_name(node);
  if (!fits_as_key(name)) node.fail("a name has at most " + std::to_string(kLongestKey) + " characters");
  return name;
}

Detail read_detail(const YamlNode& node, std::uint64_t most) {
  if (node.size() > most) {
    node.fail("expected a value of at most " + std::to_string(most) + " nodes, found " + std::to_string(node.size()),
              "the content of an alias counts each time it is used");
  }
  return detail_of(node);
}

void check_schema(const YamlNode& root, std::string_view schema) {
  const YamlNode node = root.at("schema");
  if (node.kind() == YamlKind::Text && node.text() == schema) return;
  const std::string format(schema.substr(0, schema.rfind('/') + 1));
  std::string hint;
  if (node.kind() == YamlKind::Text && node.text().starts_with(format)) {
    const std::string name = format.substr(format.find('/') + 1, format.size() - format.find('/') - 2);
    hint = "the file is of version " + quote(node.text().substr(format.size())) +
           " of the format, and this program reads version " + std::string(schema.substr(format.size())) +
           " only: use a program that reads the other version, or write the file as 'stagecraft schema " + name +
           "' describes";
  }
  node.fail_expected("the schema '" + std::string(schema) + "'", hint);
}

}  // namespace stagecraft
