#pragma once

#include <doctest/doctest.h>

namespace stagecraft::test {

/// Instants in the order of a second, given by a formula.
inline doctest::Approx near(double value, double relative = 1e-12) {
  return doctest::Approx(value).epsilon(relative).scale(1e-9);
}

}  // namespace stagecraft::test
