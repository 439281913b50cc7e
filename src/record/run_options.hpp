#pragma once

#include "base/field.hpp"
#include "nf4/tensor.hpp"
#include "record/geometry.hpp"
#include "record/settings.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::record {

// What is read.
struct Inputs {
  std::vector<std::string> paths;         // files and folders
  std::vector<std::string> dumps;         // see plan::parse_raw(); all of them are one input
  std::vector<std::string> stack_shapes;  // see plan::parse_stack_shape(); for all inputs
};

// What somebody asks of a run. A device and its variants may still have to settle the rest.
struct RunOptions {
  // The tensors.
  Inputs inputs;
  std::vector<std::string> shapes;                         // "OUTxIN": synthetic
  std::vector<std::string> presets;                        // names of models: synthetic
  int blocksize = 64;                                      // of the synthetic ones
  nf4::AbsmaxKind absmax_kind = nf4::AbsmaxKind::kNested;  // the same
  std::string tensor_regex;                                // of names; empty selects all
  bool all_tensors = false;                                // else one of each geometry is timed

  // What is computed.
  std::vector<std::string> operations = {"dequantize"};
  std::vector<std::int64_t> tokens = {1, 8, 64};  // numbers of tokens that are multiplied with
  std::vector<StackPart> parts;                   // of layers of experts; empty: both products
  std::optional<Activation> activation;           // of whole layers; none: as the model does
  std::int64_t top_k = 0;           // experts that a token chooses; 0: as the model does
  std::string routing = "uniform";  // how it does, see operation::parse_routing()
  bool transposed = false;          // stacks are of matrices that lie as [inputs, outputs]
  Activations activations = Activations::kNormal;
  std::string activations_file;   // where they are from with Activations::kFile
  bool cold_activations = false;  // cold samples find activations in no cache, too
  bool crossover = false;         // more tokens where the fastest variant changes

  // By what.
  std::string device = "auto";
  int threads = 0;                    // of the CPU; 0: all
  std::vector<std::string> variants;  // names and wildcards; empty selects all
  std::vector<std::string> peers;     // "NAME=PATH"
  bool peers_are_optional = false;    // a peer that cannot be used is no error
  bool in_process = false;            // they run in this process, not each in one of its own
  std::string baseline;               // empty: the operation's default; "none"
  std::string fused_config;

  // How.
  std::vector<nf4::OutputType> output_types;  // empty: the type each tensor's state names
  std::vector<CacheMode> caches = {CacheMode::kCold};
  std::vector<LaunchMode> launches;  // empty: the device's first
  int caches_rotated = 0;            // cold samples: the sets of a rotation, in last-level caches;
                                     // 0: the device's default
  std::uint64_t seed = 42;           // of data, and of the order in which variants take turns
  int min_samples = 30;
  double max_time_s = 2.0;     // a measurement: one variant in one cell
  double precision = 0.005;    // wanted relative half-width of the median's interval
  double min_sample_s = 1e-4;  // a sample holds so many launches that it lasts at least this long
  double duty = 1.0;  // share of the time that the device samples; between samples it rests
  double call_timeout_s = 300.0;  // a call of a variant that takes longer hangs; 0: none does
  VerifyScope verify = VerifyScope::kAll;
  bool measure_stream_shapes = true;  // also time the kernels that only move the bytes
  bool measure_energy = false;        // of a call, too
  bool check_company = false;         // measure each variant alone as well
  std::vector<std::string> why;       // variants whose counters are read: names and wildcards
  int single_call = 0;  // no run: the tensor with this number, from 1, is for one call; 0: a run

  // On several devices, or as one task of a job.
  int together = 1;  // devices that are measured at the same time, this one included
  bool in_turn = false;
  bool together_and_alone = false;
  double device_timeout_s = 600.0;  // a device that shows no progress for so long is given up
  std::string shard;                // "I/N"; empty: what the environment says
  bool split = false;               // the geometries over the tasks

  // What comes out.
  std::string json;  // the report's path; "-": stdout; empty: none
  bool keep_samples = true;
  bool anonymous = false;  // the report does not tell whose machine it is of
  bool force = false;
  bool dry_run = false;
  bool quiet = false;
  std::vector<std::string> command;  // as the report gives it
};

// Every option, in the order of the JSON: `visit(name, member)`. A new one is a line here.
template <Is<RunOptions> Options, class Visit>
void fields(Options& o, Visit&& visit) {
  visit("inputs", o.inputs.paths);
  visit("raw", o.inputs.dumps);
  visit("shape_of", o.inputs.stack_shapes);
  visit("shapes", o.shapes);
  visit("presets", o.presets);
  visit("blocksize", o.blocksize);
  visit("absmax", o.absmax_kind);
  visit("tensor", o.tensor_regex);
  visit("all_tensors", o.all_tensors);
  visit("operations", o.operations);
  visit("tokens", o.tokens);
  visit("parts", o.parts);
  visit("activation", o.activation);
  visit("top_k", o.top_k);
  visit("routing", o.routing);
  visit("transposed", o.transposed);
  visit("activations", o.activations);
  visit("activations_file", o.activations_file);
  visit("cold_activations", o.cold_activations);
  visit("crossover", o.crossover);
  visit("device", o.device);
  visit("threads", o.threads);
  visit("variants", o.variants);
  visit("peers", o.peers);
  visit("peers_are_optional", o.peers_are_optional);
  visit("in_process", o.in_process);
  visit("baseline", o.baseline);
  visit("fused_config", o.fused_config);
  visit("output_dtypes", o.output_types);
  visit("caches", o.caches);
  visit("launches", o.launches);
  visit("caches_rotated", o.caches_rotated);
  visit("seed", o.seed);
  visit("min_samples", o.min_samples);
  visit("max_time_s", o.max_time_s);
  visit("precision", o.precision);
  visit("min_sample_s", o.min_sample_s);
  visit("duty", o.duty);
  visit("call_timeout_s", o.call_timeout_s);
  visit("verify", o.verify);
  visit("measure_stream_shapes", o.measure_stream_shapes);
  visit("measure_energy", o.measure_energy);
  visit("check_company", o.check_company);
  visit("why", o.why);
  visit("single_call", o.single_call);
  visit("together", o.together);
  visit("in_turn", o.in_turn);
  visit("together_and_alone", o.together_and_alone);
  visit("device_timeout_s", o.device_timeout_s);
  visit("shard", o.shard);
  visit("split", o.split);
  visit("json", o.json);
  visit("keep_samples", o.keep_samples);
  visit("anonymous", o.anonymous);
  visit("force", o.force);
  visit("dry_run", o.dry_run);
  visit("quiet", o.quiet);
  visit("command", o.command);
}

}  // namespace nf4bench::record
