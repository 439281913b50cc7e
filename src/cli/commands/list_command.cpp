#include "cli/commands/list_command.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/options/choices.hpp"
#include "cli/options/peer_option.hpp"
#include "device/devices.hpp"
#include "json/json_text.hpp"
#include "operation/operation.hpp"
#include "plan/presets.hpp"
#include "text/text_grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <unistd.h>
#include <utility>
#include <vector>

namespace nf4bench::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

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
    nf4bench list presets llama-3.1-8b)";

constexpr json::JsonLayout kLayout = json::JsonLayout::kExpanded;

// What one listing says, in both forms.
struct Listing {
  std::vector<json::JsonText> json;
  Rows rows;
  std::string note;  // for stderr; empty when there is nothing to add
};

// The kind of device ("cuda", "cpu") that --device names; empty for all.
std::string device_kind(const std::string& word) {
  if (word.empty()) return "";
  check_device_name(word);
  if (word == "auto")
    return device::list_devices().devices.front().kind == record::DeviceKind::kCuda ? "cuda"
                                                                                    : "cpu";
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
  LoadedPeers all;
  for (const peer::Peers& peers : loaded) all.push_back(&peers);
  std::vector<std::string> lines;
  for (const std::string& warning : absence_warnings(all)) lines.push_back("warning: " + warning);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

// The word that stands for a kind of device.
const char* word_of(record::DeviceKind kind) {
  return kind == record::DeviceKind::kCuda ? "cuda" : "cpu";
}

json::JsonText variant_json(const operation::BuiltIn& built_in, const kernels::Variant& variant) {
  const kernels::Traits& traits = variant.traits;
  return json::json_object({{"device", json::json_string(word_of(built_in.device))},
                            {"name", json::json_string(variant.name)},
                            {"operation", json::json_string(built_in.operation.name)},
                            {"summary", json::json_string(variant.summary)},
                            {"mirrors", json::json_string(traits.mirrors)},
                            {"launches", json::json_integer(traits.launches)},
                            {"inline_ptx", json::json_bool(traits.inline_ptx)},
                            {"cache_hints", json::json_bool(traits.cache_hints)},
                            {"persistent", json::json_bool(traits.persistent)}},
                           kLayout);
}

Listing list_variants(const ListArguments& arguments) {
  const std::string kind = device_kind(arguments.device);
  const std::vector<peer::PeerArgument> peer_arguments = peer::parse_peers(arguments.peers);
  Listing listing = {
      .json = {}, .rows = {{"operation", "device", "variant", "launches", "idea"}}, .note = ""};
  std::deque<peer::Peers> loaded;  // own names that are listed
  for (const operation::BuiltIn& built_in : operation::built_in_catalogs()) {
    const std::string device = word_of(built_in.device);
    if (!kind.empty() && kind != device) continue;
    const std::string& operation = built_in.operation.name;
    if (!arguments.operation.empty() && arguments.operation != operation) continue;
    const peer::Peers& peers = loaded.emplace_back(
        peer_arguments,
        peer::PeerHost{
            .kind = built_in.device, .operation = operation, .tools = peer::cuda_tools()},
        built_in.catalog.variants);
    for (const kernels::Variant& variant : peers.variants()) {
      listing.json.push_back(variant_json(built_in, variant));
      listing.rows.push_back({operation, device, variant.name,
                              std::to_string(variant.traits.launches), idea_text(variant)});
    }
  }
  listing.note = absent_peers(loaded);
  if (kind == "cuda" && listing.json.empty()) {
    listing.note = "this build has no CUDA variants; build with the CUDA Toolkit to get them";
  }
  return listing;
}

std::string rate_text(const std::optional<double>& bytes_per_s) {
  return bytes_per_s ? fmt::format("{:.0f} GB/s peak", *bytes_per_s / 1e9) : "";
}

std::string details_of(const record::DeviceInfo& device) {
  if (device.kind == record::DeviceKind::kCpu) {
    return fmt::format("{} threads, SIMD {}", device.multiprocessors, device.simd);
  }
  const std::string rate = rate_text(device.peak_bytes_per_s);
  return fmt::format("sm_{}, {} SMs, {} MiB L2{}{}, driver {}", device.compute_capability,
                     device.multiprocessors, device.l2_bytes >> 20, rate.empty() ? "" : ", ", rate,
                     device.driver);
}

json::JsonText device_json(const record::DeviceInfo& device) {
  const bool is_cuda = device.kind == record::DeviceKind::kCuda;
  const std::optional<double>& peak = device.peak_bytes_per_s;
  return json::json_object(
      {{"id", json::json_string(device.id)},
       {"name", json::json_string(device.name)},
       {"kind", json::json_string(is_cuda ? "cuda" : "cpu")},
       {"compute_capability",
        is_cuda ? json::json_integer(device.compute_capability) : json::json_null()},
       {"multiprocessors", json::json_integer(device.multiprocessors)},
       {"l2_bytes", json::json_integer(device.l2_bytes)},
       {"memory_bytes", json::json_integer(device.memory_bytes)},
       {"peak_bytes_per_s", peak ? json::json_float(*peak) : json::json_null()},
       {"uuid", json::json_string_or_null(device.uuid)},
       {"pci_id", json::json_string_or_null(device.pci_id)},
       {"driver", json::json_string_or_null(device.driver)},
       {"simd", json::json_string_or_null(device.simd)}},
      kLayout);
}

Listing list_all_devices() {
  const device::DeviceListing found = device::list_devices();
  Listing listing = {.json = {}, .rows = {{"device", "name", "memory", "details"}}, .note = ""};
  for (const record::DeviceInfo& device : found.devices) {
    listing.json.push_back(device_json(device));
    listing.rows.push_back(
        {device.id, device.name,
         fmt::format("{:.1f} GiB", static_cast<double>(device.memory_bytes) / (1 << 30)),
         details_of(device)});
  }
  if (!found.cuda_problem.empty()) listing.note = "no CUDA device: " + found.cuda_problem;
  return listing;
}

json::JsonText layer_json(const plan::PresetLayer& layer) {
  const std::vector<json::JsonText> shape = {json::json_integer(layer.out_features),
                                             json::json_integer(layer.in_features)};
  return json::json_object({{"role", json::json_string(layer.role)},
                            {"shape", json::json_array(shape, kLayout)},
                            {"count", json::json_integer(layer.count)}},
                           kLayout);
}

json::JsonText preset_json(const plan::Preset& preset) {
  return json::json_object({{"name", json::json_string(preset.name)},
                            {"summary", json::json_string(preset.summary)},
                            {"layers", json::json_array_of(preset.layers, layer_json, kLayout)}},
                           kLayout);
}

Listing list_all_presets() {
  Listing listing = {.json = {}, .rows = {{"preset", "shapes", "tensors", "model"}}, .note = ""};
  for (const plan::Preset& preset : plan::presets()) {
    std::int64_t tensors = 0;
    for (const plan::PresetLayer& layer : preset.layers) tensors += layer.count;
    listing.json.push_back(preset_json(preset));
    listing.rows.push_back({preset.name, fmt::format("{}", preset.layers.size()),
                            fmt::format("{}", tensors), preset.summary});
  }
  return listing;
}

Listing list_layers(const plan::Preset& preset) {
  Listing listing = {.json = {preset_json(preset)},
                     .rows = {{"shape (out x in)", "tensors", "layers"}},
                     .note = ""};
  for (const plan::PresetLayer& layer : preset.layers) {
    listing.rows.push_back({fmt::format("{}x{}", layer.out_features, layer.in_features),
                            fmt::format("{}", layer.count), layer.role});
  }
  return listing;
}

std::vector<std::string> listings() {
  return {"variants", "devices", "presets"};
}

Listing make_listing(const ListArguments& arguments) {
  if (arguments.what != "presets" && !arguments.preset.empty()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("list: found \"{}\" after {}; only \"list presets\" takes a name",
                            escaped(arguments.preset), arguments.what));
  }
  if (arguments.what == "variants") return list_variants(arguments);
  if (!arguments.device.empty() || !arguments.peers.empty()) {
    throw Error(ErrorKind::kUsage, "list: --device and --peer go with \"list variants\" only");
  }
  if (arguments.what == "devices") return list_all_devices();
  if (arguments.what == "presets") {
    return arguments.preset.empty() ? list_all_presets()
                                    : list_layers(plan::find_preset(arguments.preset));
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("list: \"{}\" is not one of variants, devices, presets.{}",
                          arguments.what, did_you_mean(arguments.what, listings())));
}

}  // namespace

CLI::App* add_list_command(CLI::App& app, ListArguments& arguments) {
  CLI::App* command =
      add_command(app, "list", "Show the variants, devices or presets there are", kExamples);
  add_single(*command, arguments.what, {"what", "", "variants, devices or presets"})
      .required()
      .one_of(listings());
  add_single(*command, arguments.preset, {"name", "", "The preset whose layers are to be shown"})
      .suggests(preset_words());
  add_single(*command, arguments.device,
             {"--device", "NAME", "Variants of this device only: cuda, cpu or auto"})
      .suggests(device_words());
  add_single(*command, arguments.operation,
             {"--operation", "NAME", "Variants of this operation only: dequantize or matmul"})
      .one_of(operation_words());
  add_peer_option(*command, arguments.peers);
  add_flag(*command, "--json", arguments.json, "Print JSON instead of a table");
  return command;
}

ExitCode execute(const ListArguments& arguments, const Context&) {
  const Listing listing = make_listing(arguments);
  if (arguments.json) {
    write_stdout(json::json_array(listing.json, kLayout).text + "\n");
  } else {
    // Nothing is cut for a reader that is no terminal: grep, a file, a pager.
    const Terminal terminal = terminal_of(STDOUT_FILENO);
    write_stdout(text::align_columns(listing.rows, terminal.has_width ? terminal.width : 0));
  }
  if (!listing.note.empty()) write_stderr(listing.note + "\n");
  return ExitCode::kOk;
}

}  // namespace nf4bench::cli
