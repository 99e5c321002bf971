#include "experiments/commands/served_request.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_file.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

constexpr std::array<std::string_view, 5> kKeys = {"id", "command", "hold", "evaluate", "files"};
constexpr const char* kRequestHint =
    R"(a request is {"command": ["simulate", "plan.yaml"]}, {"hold": {"model": "vgg16", "platform": "dgx-1-v100"}} )"
    R"(or {"evaluate": ["…"]}, with "id" and "files" if need be)";

[[noreturn]] void refuse_request(const std::string& key, const std::string& expected) {
  throw InputError("expected " + expected, {"request", 0, 0, key}, kRequestHint);
}

const std::string& read_word(const Detail& value, const std::string& key, const std::string& expected) {
  const auto* text = std::get_if<std::string>(&value.value);
  if (text == nullptr || text->find('\0') != std::string::npos) refuse_request(key, expected);
  return *text;
}

std::vector<std::string> read_words(const Detail& value, const std::string& key) {
  const std::string expected = "a list of texts without NUL";
  const auto* list = std::get_if<Detail::List>(&value.value);
  if (list == nullptr) refuse_request(key, expected);
  std::vector<std::string> words;
  for (const Detail& each : *list) words.push_back(read_word(each, key, expected));
  return words;
}

ServedHold read_hold(const Detail& value) {
  const auto* record = std::get_if<Detail::Record>(&value.value);
  if (record == nullptr) refuse_request("hold", "a record");
  InputOptions inputs;
  for (const auto& [name, each] : *record) {
    const std::string key = "hold." + name;
    if (name == "model") {
      inputs.model = read_word(each, key, "the name of a model");
    } else if (name == "platform") {
      inputs.platform.platform = read_word(each, key, "the name of a platform");
    } else if (name == "speed") {
      inputs.platform.speeds = read_words(each, key);
    } else if (name == "set") {
      inputs.set = read_words(each, key);
    } else {
      throw InputError("unknown key " + quote(name), {"request", 0, 0, "hold"},
                       suggest_name(name, {"model", "platform", "speed", "set"}));
    }
  }
  if (inputs.model.empty() || inputs.platform.platform.empty()) refuse_request("hold", "a model and a platform");
  return {std::move(inputs)};
}

std::map<std::string, std::string> read_files(const Detail& value) {
  const auto* files = std::get_if<Detail::Record>(&value.value);
  if (files == nullptr) refuse_request("files", "a record of texts by their names");
  std::map<std::string, std::string> texts;
  for (const auto& [name, content] : *files) {
    const auto* text = std::get_if<std::string>(&content.value);
    texts[name] = text != nullptr ? *text : to_json(content);
  }
  return texts;
}

std::string one_line_of(const Detail& value) { return to_json(value, -1); }

}  // namespace

ServedRequest parse_served_request(std::string_view line, Detail& id) {
  check_text(line, "request");
  const std::optional<Detail> document = from_json(line);
  const auto* record = document ? std::get_if<Detail::Record>(&document->value) : nullptr;
  if (record == nullptr) refuse_request("", "a JSON record on one line");
  const auto given = std::ranges::find(*record, "id", &Detail::Record::value_type::first);
  if (given != record->end()) id = given->second;
  ServedRequest request;
  int wishes = 0;
  for (const auto& [key, value] : *record) {
    if (std::ranges::find(kKeys, key) == kKeys.end()) {
      throw InputError("unknown key " + quote(key), {"request", 0, 0, ""},
                       suggest_name(key, {kKeys.begin(), kKeys.end()}));
    }
    if (key == "command") request.what = ServedCommand{read_words(value, key)};
    if (key == "hold") request.what = read_hold(value);
    if (key == "evaluate") request.what = ServedEvaluation{read_words(value, key)};
    if (key == "files") request.files = read_files(value);
    wishes += key == "id" || key == "files" ? 0 : 1;
  }
  if (wishes != 1) refuse_request("", "one of command, hold and evaluate");
  return request;
}

std::string on_one_line(std::string_view json) {
  std::string line;
  line.reserve(json.size());
  bool is_indent = false;  // a string has no newline of its own, so what follows one is an indent
  for (const char c : json) {
    is_indent = c == '\n' || (is_indent && c == ' ');
    if (!is_indent) line += c;
  }
  return line;
}

std::string answer_line(const Detail& id, const Answer& answer, const std::vector<std::string>& remarks) {
  const Detail::List list(remarks.begin(), remarks.end());
  return R"({"id":)" + one_line_of(id) + R"(,"code":)" + std::to_string(static_cast<int>(answer.code)) +
         R"(,"answer":)" + on_one_line(answer.json) + R"(,"text":)" + one_line_of(answer.text) + R"(,"remarks":)" +
         one_line_of(list) + "}\n";
}

std::string question_line(const Detail& id, const std::string& planner, std::string_view request) {
  return R"({"id":)" + one_line_of(id) + R"(,"ask":)" + one_line_of(planner) + R"(,"request":)" + on_one_line(request) +
         "}\n";
}

}  // namespace stagecraft
