#pragma once

#include "doctor/aa_run.hpp"
#include "doctor/checks/checks.hpp"
#include "doctor/facts.hpp"
#include "doctor/gpu_state.hpp"
#include "text/page.hpp"

#include <optional>
#include <string>
#include <vector>

namespace nf4bench::doctor {

// What the facts mean for a measurement.
struct Diagnosis {
  record::DeviceInfo device;
  std::vector<Finding> findings;  // worst first, else in the order of the checks
  Severity worst = Severity::kOk;
  AaRun aa;
  std::optional<GpuState> gpu;   // of a CUDA device
  std::optional<AaNoise> noise;  // absent when the variant could not be measured
};

// Judges `facts`. Pure: looks at nothing else.
Diagnosis diagnose(const DoctorFacts& facts);

// Of a device that could not be examined, because of `problem`.
Diagnosis without_facts(const record::DeviceInfo& device, const std::string& problem);

// "fit", "doubtful" or "worthless": what a gate is, run on a machine whose worst finding is
// `worst`.
const char* verdict_word(Severity worst);

// The verdict and why, as one line without a full stop.
std::string verdict_line(const Diagnosis& diagnosis);

inline constexpr char kDoctorSchema[] = "nf4bench.doctor";
inline constexpr char kDoctorSchemaVersion[] = "1.1.0";

// A table to read: the findings, worst first, with the verdict in the last line. Ends in a newline.
std::string diagnosis_table(const Diagnosis& diagnosis, const text::Style& style);

// The same as JSON, as docs/doctor.schema.json describes it. Ends in a newline.
std::string diagnosis_json(const Diagnosis& diagnosis);

// Several devices: a line for each, then what is wrong with any of them and what to do about it.
std::string devices_table(const std::vector<Diagnosis>& diagnoses, const text::Style& style);

// The same as JSON: an array of what diagnosis_json() writes.
std::string devices_json(const std::vector<Diagnosis>& diagnoses);

}  // namespace nf4bench::doctor
