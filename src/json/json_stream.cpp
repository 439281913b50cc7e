#include "json/json_stream.hpp"

namespace nf4bench::json {
namespace {

constexpr std::size_t kIndentWidth = 2;

}  // namespace

void JsonStream::add(std::string_view name, const JsonText& value) {
  start_member(name);
  // Strings hold no raw newline.
  std::string_view rest = value.text;
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    text_.append(rest.substr(0, end));
    break_line();
    rest.remove_prefix(end + 1);
  }
  text_.append(rest);
  hand_on();
}

void JsonStream::begin(std::string_view name, std::string_view brackets) {
  if (!open_.empty()) start_member(name);
  text_ += brackets[0];
  open_.push_back({.closing = brackets[1]});
}

void JsonStream::end() {
  const Container container = open_.back();
  open_.pop_back();
  if (!container.is_empty) break_line();
  text_ += container.closing;
}

void JsonStream::finish() {
  text_ += '\n';
  hand_on();
}

void JsonStream::start_member(std::string_view name) {
  if (!open_.back().is_empty) text_ += ',';
  open_.back().is_empty = false;
  break_line();
  if (!name.empty()) text_.append(json_string(name).text).append(": ");
}

void JsonStream::break_line() {
  text_.append(1, '\n').append(kIndentWidth * open_.size(), ' ');
}

void JsonStream::hand_on() {
  sink_(text_);
  text_.clear();
}

}  // namespace nf4bench::json
