#pragma once

#include "text/sheet.hpp"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace nf4bench::text {

// A piece of text of a document. Like a sheet's it is as hostile as it came.
struct Words {
  enum class Kind : std::uint8_t { kTitle, kHeading, kParagraph, kItem, kSmall };

  Kind kind = Kind::kParagraph;
  std::string text{};
  std::string label{};  // of an item, before the text; strong where `tone` is bad
  Tone tone = Tone::kPlain;
};

// Words and tables in their order: a comment, a ticket, or what a page shows without scripts.
class Document {
 public:
  void title(std::string text) { add({.kind = Words::Kind::kTitle, .text = std::move(text)}); }
  void heading(std::string text) { add({.kind = Words::Kind::kHeading, .text = std::move(text)}); }
  void paragraph(std::string text) { add({.text = std::move(text)}); }
  void small(std::string text) { add({.kind = Words::Kind::kSmall, .text = std::move(text)}); }

  // Nothing where `text` is empty.
  void item(std::string label, std::string text, Tone tone = Tone::kPlain);

  // Nothing where no section has a row.
  void table(Sheet sheet);

  const std::vector<std::variant<Words, Sheet>>& parts() const { return parts_; }

 private:
  void add(Words words) { parts_.emplace_back(std::move(words)); }

  std::vector<std::variant<Words, Sheet>> parts_;
};

// As GitHub and GitLab take it.
std::string markdown(const Document& document);

// The same as elements of HTML, nothing around them.
std::string html(const Document& document);

}  // namespace nf4bench::text
