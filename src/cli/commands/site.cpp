#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/files.hpp"
#include "cli/report_files.hpp"
#include "site/site_page.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  Pages of all cards that a folder of reports is about; open site/index.html:
    nf4bench site results/ -o site/
A folder inside of it has the name of who sent the reports there. Reports that "nf4bench check" refuses are left out, and the first page names them.
Exit codes: 0 written, 2 usage, 3 bad input or no report that counts.)";

struct Arguments {
  std::string input;
  std::string output;
  bool force = false;
};

// A folder of `root` has the name of who sent what is in it; else the machine has to do.
std::string sender_of(const report::NamedReport& report, const std::string& root) {
  const std::filesystem::path inside = std::filesystem::path(report.name).lexically_relative(root);
  const bool is_in_folder = std::distance(inside.begin(), inside.end()) > 1;
  return is_in_folder ? inside.begin()->string() : report.report.host.name;
}

site::Site site_of(const CheckedReports& all, const std::string& root) {
  std::vector<site::LeftOut> refused;
  std::vector<site::Sent> sent;
  const std::size_t unread = all.checked.size() - all.reports.size();
  for (std::size_t i = 0; i < all.checked.size(); ++i) {
    const check::Checked& checked = all.checked[i];
    if (checked.is_plausible()) {
      const report::NamedReport& report = all.reports[i - unread];
      sent.push_back({&report, sender_of(report, root)});
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
  site.left_out.insert(site.left_out.begin(), refused.begin(), refused.end());
  return site;
}

ExitCode write_site(const Arguments& arguments, const Context& context) {
  const CheckedReports all = read_and_check({arguments.input});
  const site::Site site = site_of(all, arguments.input);
  for (const site::LeftOut& each : site.left_out) {
    write_stderr(fmt::format("left out: {}: {}\n", escaped(each.report), escaped(each.reason)));
  }
  if (site.cards.empty()) {
    throw Error(ErrorKind::kInput,
                fmt::format("{}: all of its reports are left out", escaped(arguments.input)));
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
  write_stderr(fmt::format("wrote {} and a page for each of {} cards, from {} reports\n",
                           escaped((folder / files.front().name).string()), site.cards.size(),
                           all.checked.size() - site.left_out.size()));
  return ExitCode::kOk;
}

}  // namespace

Command site_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("site", "Write static pages of the cards that many reports are about", kExamples);
  command.add("folder", a->input, "A folder of reports, at any depth", kRequired | kFiles);
  command.add("-o,--output FOLDER", a->output, "Where to; made if it is not there",
              kRequired | kFiles);
  add_force_option(command, a->force);
  command.run = [a](const Context& context) { return write_site(*a, context); };
  return command;
}

}  // namespace nf4bench::cli
