#pragma once

#include "sim/base/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// Characters without a blank between them.
struct TextWord {
  std::string text;
  int column = 0;  ///< from 1
};

/// The lines of a text that a program printed for people, each as its words. A text is read once, line by line.
class TextLines {
 public:
  /// **Requires** that the text outlives this.
  TextLines(std::string_view text, std::string file);

  /// Goes to the next line that has a word; false at the end of the text, where the last line stays.
  [[nodiscard]] bool next();
  [[nodiscard]] const std::vector<TextWord>& words() const { return words_; }
  [[nodiscard]] int number() const { return number_; }  ///< of the line, from 1; 0 before the first
  [[nodiscard]] InputPlace place(int column, const std::string& key = {}) const;

 private:
  std::string_view rest_;
  std::string file_;
  std::vector<TextWord> words_;
  int number_ = 0;
};

}  // namespace stagecraft
