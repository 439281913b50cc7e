#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/shared_options.hpp"
#include "device/cpu/shared_arena.hpp"
#include "device/devices.hpp"
#include "operation/operation.hpp"
#include "plan/cards.hpp"
#include "plan/presets.hpp"
#include "text/page.hpp"
#include "text/printers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <memory>
#include <unistd.h>
#include <utility>
#include <vector>

namespace nf4bench::cli {
namespace {

constexpr json::JsonLayout kLayout = json::JsonLayout::kExpanded;

constexpr char kExamples[] = R"(Examples:
  The variants of this build, simplest first:
    nf4bench list variants
  Whether a library can be used, and what it offers:
    nf4bench list variants --peer mine=./libmine.so
  Those of the CPU device, for a script:
    nf4bench list variants --device cpu --json
  Which devices can be measured on:
    nf4bench list devices
  The models whose layer shapes are known, and the layers of one:
    nf4bench list presets
    nf4bench list presets llama-3.1-8b
  What cards should take, measured by nobody yet:
    nf4bench list cards
    nf4bench list cards 4090 --shape 4096x14336 --tokens 1,16,128)";

struct Arguments {
  std::string what;
  std::string name;       // of the preset whose layers are shown, or of cards; empty: all
  std::string device;     // empty: all
  std::string operation;  // empty: all
  Words peers;
  bool in_process = false;
  plan::CardQuestion cards;
  std::string format = "table";
  bool json = false;
};

// What one listing says, and what is to be said of it on stderr; empty when there is nothing.
struct Listing {
  text::Sheet sheet;
  std::string note;
};

// The kind of device ("cuda", "cpu") that --device names; empty for all.
std::string device_kind(const std::string& word) {
  if (word.empty()) return "";
  device::check_device_name(word);
  if (word == "auto") return to_string(device::list_devices().devices.front().kind);
  return word.substr(0, word.find(':'));
}

// The idea of a variant, and by which means: the first to be cut where a terminal is narrow.
std::string idea_text(const kernels::Variant& variant) {
  std::vector<std::string> means;
  if (variant.traits.inline_ptx) means.emplace_back("ptx");
  if (variant.traits.cache_hints) means.emplace_back("hints");
  if (variant.traits.persistent) means.emplace_back("persistent");
  if (means.empty()) return variant.summary;
  return fmt::format("{} ({})", variant.summary, fmt::join(means, ", "));
}

// Why peers offer nothing; one line each.
std::string absent_peers(const std::deque<peer::Peers>& loaded) {
  peer::LoadedPeers all;
  for (const peer::Peers& peers : loaded) all.push_back(&peers);
  std::vector<std::string> lines;
  for (const std::string& warning : peer::absence_warnings(all))
    lines.push_back("warning: " + warning);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

struct ListedVariant {
  const operation::BuiltIn& built_in;
  const kernels::Variant& variant;
};

text::Columns<ListedVariant> variant_columns() {
  using Each = ListedVariant;
  return {
      {{.name = "operation", .key = "operation"},
       [](const Each& each) { return each.built_in.operation.name; }},
      {{.name = "device", .key = "device"},
       [](const Each& each) { return to_string(each.built_in.device); }},
      {{.name = "variant", .key = "name"}, [](const Each& each) { return each.variant.name; }},
      {{.name = "launches", .key = "launches"},
       [](const Each& each) { return each.variant.traits.launches; }},
      {{.name = "idea", .least = 10}, [](const Each& each) { return idea_text(each.variant); }},
      {{.key = "summary"}, [](const Each& each) { return each.variant.summary; }},
      {{.key = "mirrors"}, [](const Each& each) { return each.variant.traits.mirrors; }},
      {{.key = "inline_ptx"}, [](const Each& each) { return each.variant.traits.inline_ptx; }},
      {{.key = "cache_hints"}, [](const Each& each) { return each.variant.traits.cache_hints; }},
      {{.key = "persistent"}, [](const Each& each) { return each.variant.traits.persistent; }}};
}

Listing list_variants(const Arguments& arguments) {
  const std::string kind = device_kind(arguments.device);
  const std::vector<peer::PeerArgument> peer_arguments = peer::parse_peers(arguments.peers);
  std::vector<ListedVariant> variants;
  device::SharedArenas buffers;    // that nothing is put into
  std::deque<peer::Peers> loaded;  // own names that are listed
  const std::vector<operation::BuiltIn> catalogs = operation::built_in_catalogs();
  for (const operation::BuiltIn& built_in : catalogs) {
    if (!kind.empty() && kind != to_string(built_in.device)) continue;
    const std::string& operation = built_in.operation.name;
    if (!arguments.operation.empty() && arguments.operation != operation) continue;
    const peer::Peers& peers =
        loaded.emplace_back(peer_arguments,
                            peer::PeerHost{.kind = built_in.device,
                                           .operation = operation,
                                           .tools = peer::cuda_tools(),
                                           .shared = arguments.in_process ? nullptr : &buffers},
                            built_in.catalog.variants);
    for (const kernels::Variant& variant : peers.variants())
      variants.push_back({built_in, variant});
  }
  Listing listing = {text::sheet_of(variant_columns(), variants), absent_peers(loaded)};
  if (kind == "cuda" && variants.empty()) {
    listing.note = "this build has no CUDA variants; build with the CUDA Toolkit to get them";
  }
  return listing;
}

// Only what a CUDA device has.
text::Value of_cuda(const record::DeviceInfo& device, text::Value value) {
  return device.kind == record::DeviceKind::kCuda ? std::move(value) : text::Value();
}

text::Columns<record::DeviceInfo> device_columns() {
  using Device = record::DeviceInfo;
  return {{{.name = "device", .key = "id"}, &Device::id},
          {{.name = "name", .key = "name", .least = 16}, &Device::name},
          {{.key = "kind"}, [](const Device& each) { return to_string(each.kind); }},
          {{.name = "memory", .unit = text::Unit::kBytes, .key = "memory_bytes"},
           &Device::memory_bytes},
          {{.name = "peak", .unit = text::Unit::kBytesPerSecond, .key = "peak_bytes_per_s"},
           &Device::peak_bytes_per_s},
          {{.name = "sm", .key = "compute_capability"},
           [](const Device& each) { return of_cuda(each, each.compute_capability); }},
          {{.name = "SMs"}, [](const Device& each) { return of_cuda(each, each.multiprocessors); }},
          {{.name = "L2", .unit = text::Unit::kBytes},
           [](const Device& each) { return of_cuda(each, each.l2_bytes); }},
          {{.name = "threads"},
           [](const Device& each) {
             return of_cuda(each, 0).is_known() ? text::Value() : text::Value(each.multiprocessors);
           }},
          {{.key = "multiprocessors"}, &Device::multiprocessors},
          {{.key = "l2_bytes"}, &Device::l2_bytes},
          {{.key = "uuid"}, [](const Device& each) { return text::if_said(each.uuid); }},
          {{.key = "pci_id"}, [](const Device& each) { return text::if_said(each.pci_id); }},
          {{.name = "driver", .key = "driver"},
           [](const Device& each) { return text::if_said(each.driver); }},
          {{.name = "SIMD", .key = "simd"},
           [](const Device& each) { return text::if_said(each.simd); }}};
}

Listing list_all_devices() {
  const device::DeviceListing found = device::list_devices();
  return {text::sheet_of(device_columns(), found.devices),
          found.cuda_problem.empty() ? "" : "no CUDA device: " + found.cuda_problem};
}

Listing make_listing(const Arguments& arguments) {
  const bool takes_name = arguments.what == "presets" || arguments.what == "cards";
  if (!takes_name && !arguments.name.empty()) {
    throw Error(ErrorKind::kUsage,
                "list: found \"{}\" after {}; only \"list presets\" and \"list cards\" take a name",
                escaped(arguments.name), arguments.what);
  }
  if (arguments.what != "cards" && arguments.cards.has_options()) {
    throw Error(
        ErrorKind::kUsage,
        "list: --shape, --tokens, --dtype and --compute-capability go with \"list cards\" only");
  }
  if (arguments.what == "variants") return list_variants(arguments);
  if (!arguments.device.empty() || !arguments.peers.empty()) {
    throw Error(ErrorKind::kUsage, "list: --device and --peer go with \"list variants\" only");
  }
  if (arguments.what == "cards") {
    plan::CardQuestion asked = arguments.cards;
    asked.name = arguments.name;
    return {plan::sheet_of_cards(asked), ""};
  }
  if (arguments.what == "devices") return list_all_devices();
  return {plan::sheet_of_presets(arguments.name, arguments.format == "json"), ""};
}

std::string text_of(const text::Sheet& sheet, const std::string& format) {
  if (format == "json") return json_rows(sheet, kLayout).text + "\n";
  if (format == "csv") return text::csv(sheet);
  if (format == "markdown") return text::markdown(sheet);
  return text::terminal(sheet, text::listing_style(terminal_of(STDOUT_FILENO)));
}

ExitCode show(Arguments arguments) {
  if (arguments.json) arguments.format = "json";
  const Listing listing = make_listing(arguments);
  write_stdout(text_of(listing.sheet, arguments.format));
  if (!listing.note.empty()) write_stderr(listing.note + "\n");
  return ExitCode::kOk;
}

}  // namespace

Command list_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("list", "Show the variants, devices or presets there are, or known cards",
                  kExamples);
  command.add("what", a->what, "variants, devices, presets or cards", kRequired)
      .one_of({"variants", "devices", "presets", "cards"});
  command.add("name", a->name, "The preset whose layers are to be shown, or a part of cards' names")
      .suggests(preset_words());
  command.add("--device NAME", a->device, "Variants of this device only: cuda, cpu or auto")
      .suggests(device_words());
  command
      .add("--operation NAME", a->operation,
           "Variants of this operation only: dequantize, matmul, experts or backward")
      .one_of(operation_words());
  add_peers(command, a->peers, a->in_process);
  command.add("--format NAME", a->format, "table, json, csv, markdown [table]")
      .one_of({"table", "json", "csv", "markdown"});
  command.add("--json", a->json, "Print JSON instead of a table").excludes("--format");
  command.group = "Of cards";
  plan::CardQuestion& cards = a->cards;
  command.add("--shape OUTxIN", cards.shapes, "A weight (repeatable) [8192x8192]");
  command.add(
      "--tokens M", [&cards](const Words& words) { cards.tokens = parse_tokens(words); },
      "Rows of x that it is multiplied with [1,8,64,256]");
  command.add("--dtype TYPE", cards.dtype, "float16 or bfloat16 [float16]")
      .one_of({"float16", "bfloat16"});
  command
      .add("--compute-capability N", cards.compute_capability,
           "What code of an older compute capability would take there, as 80")
      .between(75, 120);
  command.run = [a](const Context&) { return show(*a); };
  return command;
}

}  // namespace nf4bench::cli
