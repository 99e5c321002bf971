#include "tests/docs/refresh.hpp"

#include "sim/base/error.hpp"
#include "tests/docs/pages.hpp"

#include <algorithm>
#include <exception>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>
#include <vector>

namespace stagecraft::test {
namespace {

constexpr const char* kFence = "```";

[[noreturn]] void refuse(const std::string& page, std::ptrdiff_t line, const std::string& problem) {
  throw InputError(problem, {page, static_cast<int>(line), 0, ""});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool is_command(const std::string& line) { return line.starts_with("$ "); }

/// The file that a block is; empty if it is none.
std::string file_name(const Block& block) {
  const std::size_t in_fence = block.fence.find(" file=");
  if (in_fence != std::string::npos) return block.fence.substr(in_fence + 6);
  const std::string mark = "# file: ";
  const bool has_mark = !block.lines.empty() && block.lines.front().starts_with(mark);
  return has_mark ? block.lines.front().substr(mark.size()) : "";
}

void write_block(const Block& block, const Desk& desk) {
  std::ofstream file(desk.folder / file_name(block));
  for (const std::string& line : block.lines) file << line << "\n";
}

/// The block's commands, each with its output. A blank line before the next command stays.
std::string typed_in(const Block& block, const Desk& desk) {
  std::string text;
  for (std::size_t i = 0; i < block.lines.size(); ++i) {
    const std::string& line = block.lines[i];
    if (is_command(line)) text += line + "\n" + desk.output_of(line.substr(2));
    const bool is_before_command = i + 1 < block.lines.size() && is_command(block.lines[i + 1]);
    if (line.empty() && is_before_command && !text.ends_with("\n\n")) text += "\n";
  }
  return text;
}

std::string refreshed_block(const Block& block, const Desk& desk) {
  std::string text;
  for (const std::string& line : block.lines) text += line + "\n";
  if (!file_name(block).empty()) write_block(block, desk);
  if (block.fence != "console" && !block.fence.starts_with("console ")) return text;
  const bool lacks_python = block.fence == "console python3" && desk.output_of("python3 -c 'print(1)'") != "1\n";
  return lacks_python ? text : typed_in(block, desk);
}

std::string with_outputs(const std::string& page, const std::string& text) {
  const Desk desk;
  std::string result;
  std::optional<Block> block;
  std::ptrdiff_t number = 0;
  std::ptrdiff_t opened = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    const bool is_fence = line.starts_with(kFence);
    if (block && !is_fence) {
      const bool is_first = block->fence.starts_with("console") && block->lines.empty();
      if (is_first && !is_command(line)) refuse(page, number, "a console block begins with a command, '$ …'");
      block->lines.push_back(line);
      continue;
    }
    if (block) {
      result += refreshed_block(*block, desk);
      block.reset();
    } else if (is_fence) {
      block = Block{line.substr(std::string(kFence).size()), {}};
      opened = number;
    }
    result += line + "\n";
  }
  if (block) refuse(page, opened, "this block has no end");
  return result;
}

/// How many lines of the text begin before the position.
std::ptrdiff_t line_at(const std::string& text, std::ptrdiff_t position) {
  return 1 + std::count(text.begin(), text.begin() + position, '\n');
}

bool is_in_block(const std::string& text, std::ptrdiff_t position) {
  std::ptrdiff_t fences = 0;
  for (const std::string& line : lines_of(text.substr(0, static_cast<std::size_t>(position)))) {
    if (line.starts_with(kFence)) ++fences;
  }
  return fences % 2 != 0;
}

std::string with_marks(const std::string& page, const std::string& text, const Fill& fill) {
  static const std::regex pattern("<!-- (?:/|([a-z]+): ([^\\n]*?)) -->");
  std::string result;
  std::optional<std::ptrdiff_t> opened;  // the line of a mark whose end is still to come
  auto copied = text.begin();
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), none; match != none; ++match) {
    if (is_in_block(text, match->position())) continue;
    const std::ptrdiff_t line = line_at(text, match->position());
    const bool is_end = !(*match)[1].matched;
    if (is_end && !opened) refuse(page, line, "no mark begins before this end");
    if (is_end) {
      copied = (*match)[0].first;
      opened.reset();
      continue;
    }
    if (opened) break;
    opened = line;
    result.append(copied, (*match)[0].second);
    try {
      const auto behind = static_cast<std::size_t>((*match)[0].second - text.begin());
      result += fill({(*match)[1], (*match)[2], text.substr(behind, text.find("<!--", behind) - behind)});
    } catch (const std::exception& problem) {
      refuse(page, line, problem.what());
    }
  }
  if (opened) refuse(page, *opened, "this mark has no end, <!-- / -->");
  return result.append(copied, text.end());
}

}  // namespace

std::string refreshed(const std::string& page, const std::string& text, const Fill& fill) {
  return with_marks(page, with_outputs(page, text), fill);
}

}  // namespace stagecraft::test
