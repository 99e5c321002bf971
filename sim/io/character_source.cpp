#include "sim/io/character_source.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kPartSize = std::size_t{1} << 17;
constexpr std::size_t kLongestText = std::size_t{16} << 20;

}  // namespace

CharacterSource::CharacterSource(std::string file_name, ByteReader read)
    : file_name_(std::move(file_name)), read_(std::move(read)), buffer_(kPartSize) {
  refill();
}

InputPlace CharacterSource::place() const {
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<int>::max());
  return {file_name_, line_, static_cast<int>(std::min(column_, kMost)), ""};
}

void CharacterSource::count(char c) {
  if (c == '\0') {  // the parser would take it for the end
    throw InputError("expected JSON, found a byte that is 0", place(),
                     "was the file or its copy not written to its end?");
  }
  if (c == '\n') {
    ++line_;
    column_ = 1;
  } else {
    ++column_;
  }
  if (c == '"' && !is_escaped_) {
    since_quote_ = 0;
  } else if (++since_quote_ > kLongestText) {
    throw InputError("expected the trace of a profiler, found a text or a number of more than 16 MiB", place());
  }
  is_escaped_ = c == '\\' && !is_escaped_;
}

void CharacterSource::refill() {
  at_ = 0;
  end_ = read_(buffer_.data(), buffer_.size());
}

}  // namespace stagecraft
