#include "hivm/text.h"

#include <cctype>
#include <charconv>

#include "hivm/micro.h"

namespace hivm {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view without_location(std::string_view line) {
  constexpr std::string_view kStart = " loc(";
  if (line.empty() || line.back() != ')') return line;
  const size_t at = line.rfind(kStart);
  if (at == line.npos) return line;
  // The first parenthesis that closes must be the last character; a file name is quoted and may hold any.
  bool quoted = false;
  for (size_t i = at + kStart.size(); i < line.size(); i++) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == ')' && !quoted) return i + 1 == line.size() ? line.substr(0, at) : line;
  }
  return line;
}

}  // namespace

void fail(int line, const std::string& what) {
  throw CompileError("line " + std::to_string(line) + ": " + what);
}

std::string shown(std::string_view text) {
  constexpr size_t kLongest = 100;
  std::string out(text.substr(0, kLongest));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
  }
  if (text.size() > kLongest) out += "...";
  return out;
}

void Cursor::skip_blanks() {
  while (at_ < text_.size() && is_blank(text_[at_])) at_++;
}

bool Cursor::at_end() {
  skip_blanks();
  return at_ == text_.size();
}

char Cursor::peek() {
  skip_blanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Cursor::accept(std::string_view token) {
  skip_blanks();
  if (text_.substr(at_, token.size()) != token) return false;
  const size_t after = at_ + token.size();
  // A token that ends in a letter must be a whole word: "to" does not match "token".
  if (is_word(token.back()) && after < text_.size() && is_word(text_[after])) return false;
  at_ = after;
  return true;
}

void Cursor::expect(std::string_view token) {
  if (!accept(token)) {
    fail("expected '" + std::string(token) + "' before '" + shown(text_.substr(at_)) + "'");
  }
}

std::string_view Cursor::word() {
  skip_blanks();
  const size_t start = at_;
  while (at_ < text_.size() && is_word(text_[at_])) at_++;
  if (at_ == start) fail("expected a name before '" + shown(text_.substr(at_)) + "'");
  return text_.substr(start, at_ - start);
}

std::string_view Cursor::value_name() {
  skip_blanks();
  const size_t start = at_;
  if (at_ == text_.size() || text_[at_] != '%') {
    fail("expected a value before '" + shown(text_.substr(at_)) + "'");
  }
  at_++;
  while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '-')) at_++;
  if (at_ == start + 1) fail("expected a name after '%'");
  if (at_ < text_.size() && text_[at_] == '#') {
    const size_t mark = at_++;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) at_++;
    if (at_ == mark + 1) fail("expected a result number after '#'");
  }
  return text_.substr(start, at_ - start);
}

int64_t Cursor::integer() {
  skip_blanks();
  if (text_.substr(at_, 2) != "0x") return decimal();
  const char* first = text_.data() + at_ + 2;
  uint64_t bits = 0;
  const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), bits, 16);
  if (error != std::errc()) fail("bad number '" + shown(text_.substr(at_)) + "'");
  at_ = end - text_.data();
  return static_cast<int64_t>(bits);
}

int64_t Cursor::decimal() {
  skip_blanks();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc()) fail("expected an integer before '" + shown(text_.substr(at_)) + "'");
  at_ = end - text_.data();
  return value;
}

std::string_view Cursor::balanced() {
  skip_blanks();
  const size_t start = at_;
  int depth = 0;
  bool quoted = false;
  for (; at_ < text_.size(); at_++) {
    const char c = text_[at_];
    if (quoted) {
      if (c == '\\')
        at_++;
      else if (c == '"')
        quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '(' || c == '[' || c == '{' || c == '<') depth++;
    if (c == ')' || c == ']' || c == '}' || (c == '>' && text_[at_ - 1] != '-')) {
      depth--;
      if (depth <= 0) {
        at_++;
        return text_.substr(start, at_ - start);
      }
    }
    if (depth == 0) break;
  }
  at_ = start;
  fail("unbalanced brackets in '" + shown(text_.substr(start)) + "'");
}

void Cursor::skip_attributes() {
  if (peek() == '{') balanced();
}

void Cursor::skip_location() {
  const size_t before = at_;
  if (!accept("loc")) return;
  if (peek() == '(')
    balanced();
  else
    at_ = before;
}

std::string_view Cursor::rest() {
  skip_blanks();
  return text_.substr(at_);
}

void Cursor::expect_end() {
  if (!at_end()) fail("unexpected '" + shown(rest()) + "'");
}

bool Lines::next() {
  while (at_ < text_.size()) {
    size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) end = text_.size();
    std::string_view line = text_.substr(at_, end - at_);
    at_ = end + 1;
    number_++;
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    if (line.empty() || line.substr(0, 2) == "//") continue;
    current_ = without_location(line);
    return true;
  }
  current_ = {};
  return false;
}

}  // namespace hivm
