#pragma once

#include "doctor/diagnosis.hpp"
#include "report/report.hpp"

#include <string>

namespace nf4bench::doctor {

inline constexpr char kDoctorSchema[] = "nf4bench.doctor";
inline constexpr char kDoctorSchemaVersion[] = "1.0.0";

// A table to read: the findings, worst first, with the verdict in the last line. Ends in a newline.
std::string diagnosis_table(const Diagnosis& diagnosis, const report::TableStyle& style);

// The same as JSON, as docs/doctor.schema.json describes it. Ends in a newline.
std::string diagnosis_json(const Diagnosis& diagnosis);

}  // namespace nf4bench::doctor
