#include "experiments/view/xml_text.hpp"

#include "experiments/view/document.hpp"

namespace stagecraft {

std::string xml_text(const std::string& text) {
  std::string result;
  for (const char c : one_line(text)) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      default: result += c;
    }
  }
  return result;
}

}  // namespace stagecraft
