#include "sim/base/activity.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal handler has no other way to it
std::atomic<const Activity*> current = nullptr;

/// The bytes of the text that are kept: no character of several bytes is cut.
std::size_t kept_bytes(std::string_view text) {
  std::size_t size = std::min(text.size(), Activity::kMostText);
  while (size > 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
  return size;
}

}  // namespace

Activity::Activity(std::string_view text) : outer_(current.load()), size_(kept_bytes(text)) {
  std::copy_n(text.begin(), size_, text_.begin());
  current.store(this);
}

Activity::~Activity() { current.store(outer_); }

void Activity::count(std::uint64_t parts, std::uint64_t total, const char* noun) {
  done_.store(parts, std::memory_order_relaxed);
  total_.store(total, std::memory_order_relaxed);
  noun_.store(noun, std::memory_order_relaxed);
}

const Activity* current_activity() { return current.load(); }

}  // namespace stagecraft
