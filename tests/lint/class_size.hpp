#pragma once

#include "tests/lint/source_tree.hpp"

#include <string>
#include <vector>

namespace stagecraft::lint {

/// A class or struct as its definition reads.
struct ClassSize {
  std::string name;
  int line = 0;
  int methods = 0;  ///< declared in it, constructors and operators too; friends and deleted functions are not
  int fields = 0;   ///< of each object: static ones are not
};

/// The classes that a file defines, nested ones too, in the order in which they end. Classes local to a function are
/// left out. The text is read without its types, so a method made by a macro is not seen.
[[nodiscard]] std::vector<ClassSize> classes_of(const SourceFile& file);

/// A class has at most 25 methods and 20 fields, unless it is excused. An excuse that is not needed (any more) is a
/// violation as well.
[[nodiscard]] std::vector<Violation> check_class_sizes(const std::vector<SourceFile>& files,
                                                       const std::vector<std::string>& excused);

}  // namespace stagecraft::lint
