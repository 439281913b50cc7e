#pragma once

// What many reports say together of each model of GPU.

#include "compare/run_cells.hpp"
#include "report/report.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nf4bench::site {

// A report, and who sent it.
struct Sent {
  const report::NamedReport* report = nullptr;
  std::string sender;
};

// A cell on boards of one model, by the newest build that measured it there.
struct Entry {
  compare::CellKey key;
  bool reference_line = false;
  double time_s = 0.0;  // median over the boards, of each the newest
  double lowest_s = 0.0;
  double highest_s = 0.0;
  std::size_t boards = 0;
  std::optional<record::Speedup> speedup{};  // of the newest report
  std::optional<double> bytes_per_s{};       // likewise
  std::optional<double> fraction_of_copy{};
  std::optional<double> fraction_of_stream{};
  std::string build;
  std::vector<std::string> senders;

  // How far apart the boards are; nothing of one alone.
  std::optional<double> spread() const;
};

// A model of GPU, or of CPU.
struct Card {
  std::string name;
  std::string file;  // of its page
  std::size_t reports = 0;
  std::set<std::string> boards;
  std::set<std::string> senders;
  std::string build;                       // the newest
  std::string newest_at;                   // when its newest report began
  std::optional<double> copy_bytes_per_s;  // of the newest report that has it
  std::vector<Entry> entries;
};

struct LeftOut {
  std::string report;
  std::string reason;
};

struct Site {
  std::vector<Card> cards;  // by name
  std::vector<LeftOut> left_out;
};

// Leaves out what a busy device measured.
Site make_site(const std::vector<Sent>& reports);

// A cell that cards are compared in.
struct SharedCell {
  std::string name;
  std::map<std::string, double> fastest_s;  // by card
};

// Cells that most cards have, a few and each of another mode or number of tokens.
std::vector<SharedCell> shared_cells(const Site& site);

// "4096x14336 nested/64", "128x1536x2048 gate_up top 8 plain/64"
std::string geometry_text(const compare::CellKey& key);

struct File {
  std::string name;
  std::string text;
};

// index.html, and a page for each card. They need no server and nothing of each other.
std::vector<File> site_files(const Site& site);

// The times of each card as GitHub and GitLab take it.
std::string site_markdown(const Site& site);

}  // namespace nf4bench::site
