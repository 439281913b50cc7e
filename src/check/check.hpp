#pragma once

// Whether a report that somebody sent can be what it says. A report is text that anybody can write,
// so that the answer is "plausible", never "true".

#include "base/words.hpp"
#include "json/json_text.hpp"
#include "report/report.hpp"
#include "text/sheet.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::check {

// Why a report is refused, or what its reader should know. The words are the codes in the JSON.
enum class Code : std::uint8_t {
  kUnreadable,     // no report, or one that contradicts its own samples
  kDates,          // ended before it began, or in the future
  kDuration,       // its samples take longer than the run did
  kBuild,          // no release build of a version and commit
  kDevice,         // not the card whose name it has
  kCeilings,       // beyond what that memory can move
  kUnlikeOthers,   // far from what the other reports say of that card
  kTwice,          // the run is in another report, too
  kUnverified,     // a time of an output that was not proved right
  kContradiction,  // rows that say two things at once
  kArithmetic,     // numbers that do not follow from others in the report
  kBeyondPeak,     // faster than the memory or the tensor cores
  kClock,          // no reading of the clock that it is said to be
  kSamples,        // not as samples fall: in order, all equal, or those of another row
  kPeer,           // of a variant that is neither built in nor a peer's that is named
  kIncomplete,     // its run did not finish
  kNoSamples,      // nobody can compute its medians again
  kDirty,          // built from sources that nobody else has
};

constexpr auto words(Code /*any*/) {
  using enum Code;
  return std::to_array<Word<Code>>({{kUnreadable, "unreadable"},
                                    {kDates, "dates"},
                                    {kDuration, "duration"},
                                    {kBuild, "build"},
                                    {kDevice, "device"},
                                    {kCeilings, "ceilings"},
                                    {kUnlikeOthers, "unlike_others"},
                                    {kTwice, "twice"},
                                    {kUnverified, "unverified"},
                                    {kContradiction, "contradiction"},
                                    {kArithmetic, "arithmetic"},
                                    {kBeyondPeak, "beyond_peak"},
                                    {kClock, "clock"},
                                    {kSamples, "samples"},
                                    {kPeer, "unnamed_peer"},
                                    {kIncomplete, "incomplete"},
                                    {kNoSamples, "no_samples"},
                                    {kDirty, "changed_sources"}});
}

// Whether a report with that can be plausible all the same.
bool refuses(Code code);

struct Finding {
  Code code = Code::kUnreadable;
  std::string where{};  // the row, as "8192x8192 float16 fused"; empty: the whole report
  std::string what{};   // a sentence: what was found, and what it should have been
};

// One report and what is wrong with it; plausible where nothing refuses it.
struct Checked {
  std::string name;
  std::vector<Finding> findings{};

  bool is_plausible() const;
};

// Every report of `reports`, what each shows alone and beside the others. `now` is the time in UTC,
// as RFC 3339 writes it.
std::vector<Checked> check_reports(const std::vector<report::NamedReport>& reports,
                                   const std::string& now);

// check_files.cpp: all reports in some files and folders, and what speaks against each.
struct CheckedReports {
  std::vector<report::NamedReport> reports;  // that could be read
  std::vector<Checked> checked;              // those that could not, then each of `reports`
};

// A folder may hold other JSON, too, which stderr names. What cannot be opened is thrown, and so is
// that there is no report.
CheckedReports read_and_check(const std::vector<std::string>& inputs);

// check_rows.cpp: what the rows of `report` show.
std::vector<Finding> check_rows(const record::Report& report);

// What was found, for people: a section for each report with its findings, those that refuse it
// first.
text::Sheet check_sheet(const std::vector<Checked>& checked);

// The same for programs.
json::JsonText check_json(const std::vector<Checked>& checked);

}  // namespace nf4bench::check
