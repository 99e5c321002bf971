#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft {

// Parts of a study's picture. Lengths are in units of the image.

inline constexpr double kSheetWidth = 900;
inline constexpr double kLargestSheetHeight = 500;

/// A map from values to places.
struct SvgAxis {
  double largest = 1.0;  ///< value at `to`
  double from = 0.0;
  double to = 1.0;
  double least = 0.0;  ///< value at `from`
  [[nodiscard]] double at(double value) const { return from + (to - from) * (value - least) / (largest - least); }
};

/// From 0 on in steps of 1, 2 or 5 times a power of ten, about `count` up to `largest`.
/// **Requires** `largest` > 0.
[[nodiscard]] std::vector<double> ticks_up_to(double largest, std::size_t count);

/// The number of a series' colour, which the style of a sheet has as a class; colours repeat after 14.
[[nodiscard]] std::size_t colour_of(std::size_t series);

/// The radius of the dot of one of several series at the same height: later ones are smaller, so that dots at the same
/// place show as rings.
[[nodiscard]] double radius_of(std::size_t series, std::size_t count);

/// The width that a text takes, roughly.
[[nodiscard]] double text_length(std::string_view text);

/// An SVG image that grows: dark text on white, without scripts and links. Texts are escaped.
class SvgSheet {
 public:
  /// `style` is the class: `d` ends at x, `m` has x as its middle, `a` is grey, `t` is a title; they can be joined.
  void text(double x, double y, const std::string& words, std::string_view style = "");
  /// A horizontal bar, a dot, a mark for a dot beyond the axis, and lines in the colour of the series. Where colours
  /// repeat, a dot is a ring.
  void bar(double x, double y, double width, double height, std::size_t series);
  void dot(double x, double y, double radius, std::size_t series);
  void beyond(double x, double y, std::size_t series);
  void curve(const std::vector<std::pair<double, double>>& points, std::size_t series);
  /// A line of the class: `g` is grey, `r` the reference, `w` a range.
  void line(double x, double y, double to_x, double to_y, std::string_view style);
  /// A dot and a name for each series, in lines that begin at x; returns the y below them.
  double legend(const std::vector<std::string>& series, double x, double y);
  void end_line() { body_ += '\n'; }
  /// The whole image.
  [[nodiscard]] std::string svg(double height) const;

 private:
  std::string body_;
};

}  // namespace stagecraft
