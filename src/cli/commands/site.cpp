#include "site/site.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "check/check.hpp"
#include "cli/commands/commands.hpp"
#include "cli/files.hpp"
#include "cli/shared_options.hpp"
#include "compare/run_cells.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  Pages of all cards that a folder of reports is about; open site/index.html:
    nf4bench site results/ -o site/
  The times of two reports as Markdown, of two variants:
    nf4bench site geometries.json launches.json --variant fused,multi_kernel
A folder inside of results/ has the name of who sent the reports there. Reports that "nf4bench check" refuses are left out, and the first page names them.
Exit codes: 0 written, 2 usage, 3 bad input or no report that counts.)";

struct Arguments {
  Words inputs;
  std::string output;  // empty: Markdown on stdout
  Words variants;
  bool force = false;
};

// A folder of an input has the name of who sent what is in it; else the machine has to do.
std::string sender_of(const report::NamedReport& report, const Words& inputs) {
  for (const std::string& root : inputs) {
    const std::filesystem::path inside =
        std::filesystem::path(report.name).lexically_relative(root);
    const bool is_in_folder = std::distance(inside.begin(), inside.end()) > 1;
    if (is_in_folder && *inside.begin() != "..") return inside.begin()->string();
  }
  return report.report.host.name;
}

site::Site site_of(const check::CheckedReports& all, const Arguments& arguments) {
  std::vector<site::LeftOut> refused;
  std::vector<site::Sent> sent;
  const std::size_t unread = all.checked.size() - all.reports.size();
  for (std::size_t i = 0; i < all.checked.size(); ++i) {
    const check::Checked& checked = all.checked[i];
    if (checked.is_plausible()) {
      const report::NamedReport& report = all.reports[i - unread];
      sent.push_back({&report, sender_of(report, arguments.inputs)});
      continue;
    }
    for (const check::Finding& finding : checked.findings) {
      if (!check::refuses(finding.code)) continue;
      const std::string where = finding.where.empty() ? "" : finding.where + ": ";
      refused.push_back(
          {checked.name, fmt::format("{}: {}{}", to_string(finding.code), where, finding.what)});
      break;
    }
  }
  site::Site site = site::make_site(sent);
  for (site::Card& card : site.cards) {
    std::erase_if(card.entries, [&](const site::Entry& entry) {
      return !compare::is_selected(entry.key, arguments.variants);
    });
  }
  site.left_out.insert(site.left_out.begin(), refused.begin(), refused.end());
  return site;
}

// Names what is left out.
site::Site read_site(const check::CheckedReports& all, const Arguments& arguments) {
  std::set<std::string> measured;
  for (const report::NamedReport& each : all.reports)
    measured.merge(compare::measured_variants(each.report));
  compare::check_patterns(arguments.variants, measured);
  site::Site site = site_of(all, arguments);
  for (const site::LeftOut& each : site.left_out) {
    write_stderr(fmt::format("left out: {}: {}\n", escaped(each.report), escaped(each.reason)));
  }
  if (!site.cards.empty()) return site;
  throw Error(ErrorKind::kInput, "{}: all of the reports are left out",
              escaped(arguments.inputs.front()));
}

ExitCode write_site(const Arguments& arguments, const Context& context) {
  const check::CheckedReports all = check::read_and_check(arguments.inputs);
  const site::Site site = read_site(all, arguments);
  if (arguments.output.empty()) {
    write_stdout(site::site_markdown(site));
    return ExitCode::kOk;
  }
  std::vector<std::string> paths;
  for (const report::NamedReport& report : all.reports) paths.push_back(report.name);
  OutputTarget target = {.option = "--output",
                         .path = "",
                         .read = files_read({.reports = std::move(paths)}, context),
                         .kind = "a page of nf4bench",
                         .is_of_kind =
                             [](std::string_view beginning) {
                               return beginning.find("<title>nf4bench: ") != std::string::npos;
                             },
                         .force = arguments.force};
  const std::filesystem::path folder = arguments.output;
  make_folder("--output", arguments.output);
  const std::vector<site::File> files = site::site_files(site);
  for (const site::File& file : files) {
    target.path = (folder / file.name).string();
    check_text_output(target);
  }
  for (const site::File& file : files) {
    target.path = (folder / file.name).string();
    write_text(target, [&](const json::TextSink& sink) { sink(file.text); });
  }
  write_stderr(fmt::format(
      "wrote {} and a page for each of {}, from {}\n",
      escaped((folder / files.front().name).string()),
      text::format_count(std::ssize(site.cards), "card"),
      text::format_count(std::ssize(all.checked) - std::ssize(site.left_out), "report")));
  return ExitCode::kOk;
}

}  // namespace

Command site_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("site", "Write static pages of the cards that many reports are about", kExamples);
  add_report_inputs(command, a->inputs);
  command.add("-o,--output FOLDER", a->output,
              "Where to; made if it is not there [the same times as Markdown on stdout]", kFiles);
  add_variant_patterns(command, a->variants);
  add_force_option(command, a->force);
  command.run = [a](const Context& context) { return write_site(*a, context); };
  return command;
}

}  // namespace nf4bench::cli
