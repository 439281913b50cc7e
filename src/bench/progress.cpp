#include "bench/progress.hpp"

#include <algorithm>
#include <utility>

namespace nf4bench::bench {

namespace {

constexpr double kReportEveryS = 0.1;

// Weight of the announced costs against what the first steps took.
constexpr double kPriorS = 0.5;

}  // namespace

Progress::Progress(std::function<double()> clock_s, Report report)
    : clock_s_(std::move(clock_s)), report_(std::move(report)) {}

double Progress::Account::remaining_s() const {
  const double scale = (elapsed_s + kPriorS) / (done + kPriorS);
  return std::max(0.0, expected - done) * scale;
}

void Progress::expect(Work work, double cost) {
  accounts_[static_cast<std::size_t>(work)].expected += cost;
}

void Progress::begin(Work work, double cost, const std::string& what) {
  end_step();
  work_ = work;
  cost_ = cost;
  what_ = what;
  report(0.0);
}

void Progress::advance(double fraction) {
  if (clock_s_() - reported_s_ >= kReportEveryS) report(std::clamp(fraction, 0.0, 1.0));
}

void Progress::finish() {
  end_step();
  highest_ = 1.0;
  if (report_) report_(1.0, "");
}

void Progress::end_step() {
  const double now = clock_s_();
  Account& account = accounts_[static_cast<std::size_t>(work_)];
  account.done += cost_;
  if (cost_ > 0.0) account.elapsed_s += now - started_s_;
  cost_ = 0.0;
  started_s_ = now;
}

void Progress::report(double fraction) {
  reported_s_ = clock_s_();
  double elapsed = reported_s_ - started_s_;
  double remaining = 0.0;
  for (const Account& account : accounts_) {
    elapsed += account.elapsed_s;
    remaining += account.remaining_s();
  }
  const Account& account = accounts_[static_cast<std::size_t>(work_)];
  const double scale = (account.elapsed_s + kPriorS) / (account.done + kPriorS);
  remaining = std::max(0.0, remaining - cost_ * fraction * scale);
  if (elapsed > 0.0) highest_ = std::max(highest_, elapsed / (elapsed + remaining));
  if (report_) report_(highest_, what_);
}

}  // namespace nf4bench::bench
