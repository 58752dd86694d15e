// Reading one line of module text, token by token, with errors that name the line.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace hivm {

// Throws CompileError "line N: what".
[[noreturn]] void fail(int line, const std::string& what);

// Text cut to a length that fits into a message, without control characters.
std::string shown(std::string_view text);

// A position in one line. All functions skip blanks first; a failed `accept` leaves the position where it
// was.
class Cursor {
 public:
  Cursor(std::string_view text, int line) : text_(text), line_(line) {}

  int line() const { return line_; }
  bool at_end();
  char peek();  // '\0' at the end
  bool accept(std::string_view token);
  void expect(std::string_view token);
  // Letters, digits and any of "_.$"; fails when there is none.
  std::string_view word();
  // "%name" or "%name#2", with the percent sign.
  std::string_view value_name();
  // With optional sign; fails when it does not fit into 64 bits.
  int64_t decimal();
  // Decimal, or 0x and bits.
  int64_t integer();
  // The text up to and including the bracket that closes the one here, brackets included. "->" closes
  // nothing.
  std::string_view balanced();
  // Skips a `{...}` attribute dictionary when one is here.
  void skip_attributes();
  // Skips a `loc(...)` when one is here: modules compiled with debug information have them.
  void skip_location();
  std::string_view rest();
  void skip(size_t characters) { at_ += characters; }  // of what rest() showed
  void expect_end();
  [[noreturn]] void fail(const std::string& what) const { hivm::fail(line_, what); }

 private:
  void skip_blanks();
  std::string_view text_;
  size_t at_ = 0;
  int line_;
};

// The lines of a text that hold something, with their numbers, without blanks at either end and without the
// location (`loc(...)`) that ends each line of a module with debug information.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  // False at the end of the text.
  bool next();
  std::string_view text() const { return current_; }
  int number() const { return number_; }

 private:
  std::string_view text_, current_;
  size_t at_ = 0;
  int number_ = 0;
};

}  // namespace hivm
