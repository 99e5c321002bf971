#include "sim/io/text_file.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/base/utf8.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a file may be read anywhere
const GivenFiles* given_files = nullptr;

bool is_forbidden_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7F;
}

[[noreturn]] void fail_byte(std::string_view text, std::size_t at, const std::string& file_name) {
  InputPlace place{file_name, 1, 1, ""};
  for (std::size_t i = 0; i < at; ++i) {
    place.column = text[i] == '\n' ? 1 : place.column + 1;
    if (text[i] == '\n') ++place.line;
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(text[at]);
  throw InputError(
      std::string("expected a text file in UTF-8, found the byte 0x") + kHex[byte >> 4U] + kHex[byte & 15U], place);
}

}  // namespace

GivenFiles::GivenFiles(std::map<std::string, std::string> texts) : texts_(std::move(texts)), outer_(given_files) {
  given_files = this;
}

GivenFiles::~GivenFiles() { given_files = outer_; }

const std::string* GivenFiles::find(const std::string& path) {
  if (given_files == nullptr) return nullptr;
  const auto found = given_files->texts_.find(path);
  return found != given_files->texts_.end() ? &found->second : nullptr;
}

void check_text(std::string_view text, const std::string& file_name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0 || is_forbidden_control(text[at])) fail_byte(text, at, file_name);
    at += length;
  }
}

void check_file_name(const std::string& path) {
  if (path.empty()) throw InputError("expected the name of a file to read, found an empty one");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw InputError("expected a file, found a directory", {path, 0, 0, ""});
  }
}

void refuse_open(const std::string& path, int error) {
  const std::optional<std::string> nearest = error == ENOENT ? nearest_file(path) : std::nullopt;
  throw InputError(std::string("cannot be read: ") + std::strerror(error), {path, 0, 0, ""},
                   nearest ? "did you mean " + quote(*nearest) + "?" : "");
}

std::string read_bytes_file(const std::string& path) {
  if (const std::string* given = GivenFiles::find(path)) return *given;
  check_file_name(path);
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) refuse_open(path, errno);
  std::string content;
  std::array<char, 1 << 16> buffer{};
  while (stream.read(buffer.data(), buffer.size()) || stream.gcount() > 0) {
    content.append(buffer.data(), static_cast<std::size_t>(stream.gcount()));
    if (content.size() > kLargestFile) throw InputError("is larger than 64 MiB", {path, 0, 0, ""});
  }
  if (stream.bad()) throw InputError("cannot be read to its end", {path, 0, 0, ""});
  return content;
}

std::string read_text_file(const std::string& path) {
  std::string content = read_bytes_file(path);
  check_text(content, path);
  return content;
}

TextSource whole(std::string_view content) {
  return [content](const TextSink& sink) { sink(content); };
}

std::string text_of(const TextSource& content) {
  std::string text;
  content([&](std::string_view part) { text += part; });
  return text;
}

void write_text_file(const std::string& path, const TextSource& content) {
  errno = 0;
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  const auto refuse_broken = [&] {
    if (!stream) throw InputError(std::string("cannot be written: ") + std::strerror(errno), {path, 0, 0, ""});
  };
  refuse_broken();
  content([&](std::string_view part) {
    stream.write(part.data(), static_cast<std::streamsize>(part.size()));
    refuse_broken();
  });
  stream.close();
  refuse_broken();
}

std::optional<std::string> nearest_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code problem;
  for (const char* extension : {".yaml", ".json"}) {
    if (fs::is_regular_file(path + extension, problem)) return path + extension;
  }
  const fs::path wanted(path);
  std::vector<std::string> beside;
  const fs::path folder = wanted.has_parent_path() ? wanted.parent_path() : fs::path(".");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem)) {
    if (entry.path().extension() == wanted.extension() && !entry.is_directory(problem)) {
      beside.push_back(entry.path().filename().string());
    }
  }
  std::ranges::sort(beside);
  const std::optional<std::string> nearest = nearest_name(wanted.filename().string(), beside);
  if (!nearest) return std::nullopt;
  return (wanted.parent_path() / *nearest).string();
}

std::string file_stem(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.substr(0, name.find('.', 1));
}

bool has_control_characters(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0 || is_control_character(text.substr(at, length))) return true;
    at += length;
  }
  return false;
}

}  // namespace stagecraft
