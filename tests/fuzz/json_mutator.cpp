#include "fuzz/json_mutator.hpp"

#include "fuzz/targets.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace nf4bench::fuzz {
namespace {

constexpr std::string_view kOddValues[] = {"0",
                                           "-0",
                                           "1",
                                           "-1",
                                           "2",
                                           "32",
                                           "64",
                                           "255",
                                           "256",
                                           "4096",
                                           "2.0",
                                           "2e0",
                                           "1e-45",
                                           "1e308",
                                           "1e309",
                                           "3.4028235e38",
                                           "3.4028236e38",
                                           "-273.15",
                                           "4294967296",
                                           "9007199254740993",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "18446744073709551615",
                                           "18446744073709551616",
                                           "1099511627776",
                                           "1099511627777",
                                           "01",
                                           "+1",
                                           ".5",
                                           "1.",
                                           "NaN",
                                           "Infinity",
                                           "-Infinity",
                                           "null",
                                           "true",
                                           "false",
                                           "\"\"",
                                           "\"\\u0000\"",
                                           "\"\\ud800\"",
                                           "\"\\ud83d\\ude00\"",
                                           "\"a/b.safetensors\"",
                                           "\"../x\"",
                                           "[]",
                                           "{}",
                                           "[0]",
                                           "[1,2]",
                                           "[0,18446744073709551615]",
                                           "{\"a\":1}",
                                           "[[[[]]]]"};

// A string with its quotes, a run of other characters that make a number or a word, or one mark.
struct Token {
  std::size_t begin;
  std::size_t end;
  char first;

  bool is_scalar() const { return std::strchr("{}[]:,", first) == nullptr; }
};

std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

std::vector<Token> tokens_of(std::string_view text) {
  constexpr std::string_view kEnds = " \t\r\n{}[]:,\"";
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char c = text[at];
    if (kEnds.substr(0, 4).find(c) != std::string_view::npos) {
      ++at;
      continue;
    }
    if (c == '"') {
      at = end_of_string(text, at);
    } else if (kEnds.find(c) != std::string_view::npos) {
      ++at;
    } else {
      at = std::min(text.find_first_of(kEnds, at), text.size());
    }
    tokens.push_back({begin, at, c == '\0' ? ' ' : c});
  }
  return tokens;
}

// The token after the value that begins at token `first`: after its closing bracket, or the next.
std::size_t after_value(const std::vector<Token>& tokens, std::size_t first) {
  std::size_t depth = 0;
  for (std::size_t i = first; i < tokens.size(); ++i) {
    const char c = tokens[i].first;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && depth > 0) --depth;
    if (depth == 0) return i + 1;
  }
  return tokens.size();
}

// The same, with the name before it when it is a member's.
std::size_t after_item(const std::vector<Token>& tokens, std::size_t first) {
  const bool is_member = first + 2 < tokens.size() && tokens[first + 1].first == ':';
  return after_value(tokens, is_member ? first + 2 : first);
}

class Mutation {
 public:
  Mutation(std::string_view text, Random& random)
      : text_(text), random_(random), tokens_(tokens_of(text)) {}

  std::string make() {
    if (tokens_.empty()) return std::string(random_.pick<std::string_view>(kOddValues));
    const std::size_t at = random_.below(tokens_.size());
    switch (random_.below(8)) {
      case 0:
      case 1:
        return with_value(at, std::string(random_.pick<std::string_view>(kOddValues)));
      case 2:
      case 3:
        return with_value(at, std::string(text_of(random_.below(tokens_.size()))));
      case 4:
        return with_changed_number(at);
      case 5:
        return without_item(at);
      case 6:
        return with_item_twice(at);
      default:
        return with_item_wrapped(at);
    }
  }

 private:
  std::string_view text_of(std::size_t token) const {
    return text_.substr(tokens_[token].begin, tokens_[token].end - tokens_[token].begin);
  }

  // What stands between the tokens `first` and `last`, which may be one past the end.
  std::string_view range(std::size_t first, std::size_t last) const {
    const std::size_t begin = tokens_[first].begin;
    return text_.substr(begin, tokens_[last - 1].end - begin);
  }

  std::string replaced(std::size_t first, std::size_t last, std::string_view by) const {
    std::string result(text_.substr(0, tokens_[first].begin));
    result += by;
    result += text_.substr(tokens_[last - 1].end);
    return result;
  }

  // The first scalar from token `at` on, or `at` itself.
  std::size_t scalar_from(std::size_t at) const {
    for (std::size_t i = at; i < tokens_.size(); ++i) {
      if (tokens_[i].is_scalar()) return i;
    }
    return at;
  }

  std::string with_value(std::size_t at, const std::string& value) const {
    const std::size_t scalar = scalar_from(at);
    return replaced(scalar, scalar + 1, value);
  }

  std::string with_changed_number(std::size_t at) {
    for (std::size_t i = at; i < tokens_.size(); ++i) {
      std::string number(text_of(i));
      if (number.size() > 18 || number.find_first_not_of("0123456789") != std::string::npos) {
        continue;
      }
      const unsigned long long value = std::stoull(number);
      const unsigned long long others[] = {value + 1, value == 0 ? 0 : value - 1,
                                           value * 2, value / 2,
                                           value * 8, random_.below(300)};
      number = std::to_string(random_.pick<unsigned long long>(others));
      return replaced(i, i + 1, number);
    }
    return with_value(at, "1");
  }

  std::string without_item(std::size_t at) const {
    const std::size_t first = scalar_from(at);
    std::size_t last = after_item(tokens_, first);
    if (last < tokens_.size() && tokens_[last].first == ',') ++last;
    return replaced(first, last, "");
  }

  std::string with_item_twice(std::size_t at) const {
    const std::size_t last = after_item(tokens_, at);
    std::string items(range(at, last));
    items.append(",").append(range(at, last));
    return replaced(at, last, items);
  }

  std::string with_item_wrapped(std::size_t at) const {
    const std::size_t last = after_value(tokens_, at);
    std::string array("[");
    array.append(range(at, last)).append("]");
    return replaced(at, last, array);
  }

  std::string_view text_;
  Random& random_;
  std::vector<Token> tokens_;
};

}  // namespace

std::string mutate_json_text(std::string_view text, Random& random) {
  return Mutation(text, random).make();
}

std::size_t mutate_bytes(std::uint8_t* data, std::size_t size, std::size_t max_size,
                         unsigned /*seed*/, MutateBytes anyhow) {
  return anyhow(data, size, max_size);
}

std::size_t mutate_json(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                        MutateBytes anyhow) {
  Random random(seed);
  if (random.one_in(3)) return anyhow(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data), size);
  do {
    text = mutate_json_text(text, random);
  } while (random.one_in(3));
  if (text.empty() || text.size() > max_size) return anyhow(data, size, max_size);
  std::ranges::copy(text, data);
  return text.size();
}

}  // namespace nf4bench::fuzz
