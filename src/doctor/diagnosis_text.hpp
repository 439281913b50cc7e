#pragma once

#include "doctor/diagnosis.hpp"
#include "text/page.hpp"

#include <string>
#include <vector>

namespace nf4bench::doctor {

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
