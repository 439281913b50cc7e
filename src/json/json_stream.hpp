#pragma once

#include "json/json_text.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nf4bench::json {

// Takes the pieces of a text in order.
using TextSink = std::function<void(std::string_view)>;

// Writes a document that may be too large to be held: what is added is handed on to the sink at
// once. Containers that are begun here have a member a line.
class JsonStream {
 public:
  explicit JsonStream(TextSink sink) : sink_(std::move(sink)) {}

  // A container, in an object under `name`.
  void begin_object(std::string_view name = {}) { begin(name, "{}"); }
  void begin_array(std::string_view name = {}) { begin(name, "[]"); }

  // A value in the innermost container, in an object under `name`.
  void add(const JsonText& value) { add({}, value); }
  void add(std::string_view name, const JsonText& value);

  // Ends the innermost container.
  void end();

  // Ends the document, and the line.
  void finish();

 private:
  struct Container {
    char closing = '}';
    bool is_empty = true;
  };

  void begin(std::string_view name, std::string_view brackets);
  void start_member(std::string_view name);
  void break_line();
  void hand_on();

  TextSink sink_;
  std::string text_;
  std::vector<Container> open_;
};

}  // namespace nf4bench::json
