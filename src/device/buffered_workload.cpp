#include "device/buffered_workload.hpp"

#include "device/buffer_sets.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace nf4bench::device {
namespace {

// What a variant's prepare() left for each set, so that no other variant overwrites it.
struct OwnWorkspaces {
  GuardedBuffer first;
  Buffer others;
  std::int64_t stride = 0;

  std::byte* of(std::size_t set) const {
    return set == 0 ? first.data() : others.data() + static_cast<std::int64_t>(set - 1) * stride;
  }
};

class BufferedWorkload final : public Workload {
 public:
  BufferedWorkload(const WorkloadHost& host, const Work& work, const WorkloadPlan& plan,
                   std::unique_ptr<Executor> executor);

  std::string unsupported(const kernels::Variant& variant) const override;
  int buffer_sets() const override { return static_cast<int>(jobs().size()); }
  record::Verification verify(const kernels::Variant& variant,
                              std::span<const std::byte> expected) override;
  std::vector<std::byte> output_of(const kernels::Variant& variant) override;
  Sample sample(const kernels::Variant& variant, const SampleSpec& spec) override;

 private:
  const std::vector<kernels::Job>& jobs() const { return sets_.jobs(); }
  void reserve_workspace(const kernels::Variant& variant);
  void reserve_own_workspaces(const kernels::Variant& variant, std::int64_t bytes);
  const GuardedBuffer& first_workspace(const kernels::Variant& variant) const;
  kernels::Job job_of(const kernels::Variant& variant, std::size_t set) const;
  void prepare(const kernels::Variant& variant, std::size_t set) const;
  void call(const kernels::Variant& variant, std::size_t set) const;
  void run_poisoned(const kernels::Variant& variant);

  WorkloadHost host_;
  kernels::Launch launch_;  // the same for all calls; points into host_
  Work work_;
  std::int64_t guard_;
  BufferSets sets_;
  GuardedBuffer workspace_;                     // all sets share it: it is scratch
  std::map<std::string, OwnWorkspaces> owned_;  // of variants with a prepare()
  std::unique_ptr<Executor> executor_;
};

BufferedWorkload::BufferedWorkload(const WorkloadHost& host, const Work& work,
                                   const WorkloadPlan& plan, std::unique_ptr<Executor> executor)
    : host_(host),
      launch_{.stream = host_.stream,
              .device = facts_of(host_.info),
              .config = host_.config.empty() ? nullptr : host_.config.c_str()},
      work_(work),
      guard_(plan.guard),
      sets_(host.memory, work, plan.guard),
      executor_(std::move(executor)) {
  work_.inputs.clear();  // uploaded; they may be gone from now on
  if (plan.purpose == UploadPurpose::kTime) {
    sets_.add_for_cold(work, host.caches_rotated * host.info.l2_bytes);
  }
  executor_->run("upload a tensor", [] {});
}

std::string BufferedWorkload::unsupported(const kernels::Variant& variant) const {
  const char* reason = why_unsupported(variant, work_.problem, facts_of(host_.info));
  return reason == nullptr ? "" : reason;
}

// Makes the workspaces that `variant` needs, and fills them if it prepares them. A workspace that
// is larger than needed is kept, unless stray accesses are to be seen.
void BufferedWorkload::reserve_workspace(const kernels::Variant& variant) {
  const std::int64_t wanted = workspace_of(variant, work_.problem);
  if (variant.prepare) {
    if (!owned_.contains(variant.name)) reserve_own_workspaces(variant, wanted);
  } else if (wanted > workspace_.bytes() || (guard_ == 0 && wanted != workspace_.bytes())) {
    executor_->forget_addresses();
    workspace_ = {};
    workspace_ = GuardedBuffer(host_.memory, wanted, guard_);
  }
}

void BufferedWorkload::reserve_own_workspaces(const kernels::Variant& variant, std::int64_t bytes) {
  const auto others = static_cast<std::int64_t>(jobs().size()) - 1;
  OwnWorkspaces own = {.first = GuardedBuffer(host_.memory, bytes, guard_),
                       .others = Buffer(host_.memory, others * aligned_bytes(bytes)),
                       .stride = aligned_bytes(bytes)};
  owned_.emplace(variant.name, std::move(own));
  try {
    executor_->run("launch what comes before the kernel", [&] {
      for (std::size_t set = 0; set < jobs().size(); ++set) prepare(variant, set);
    });
  } catch (...) {
    owned_.erase(variant.name);  // half prepared is not prepared
    throw;
  }
}

const GuardedBuffer& BufferedWorkload::first_workspace(const kernels::Variant& variant) const {
  return variant.prepare ? owned_.at(variant.name).first : workspace_;
}

kernels::Job BufferedWorkload::job_of(const kernels::Variant& variant, std::size_t set) const {
  kernels::Job job = jobs()[set];
  job.workspace = variant.prepare ? owned_.at(variant.name).of(set) : workspace_.data();
  return job;
}

// Nothing is launched for a tensor without elements.
void BufferedWorkload::prepare(const kernels::Variant& variant, std::size_t set) const {
  if (work_.problem.elements > 0) variant.prepare(job_of(variant, set), launch_);
}

void BufferedWorkload::call(const kernels::Variant& variant, std::size_t set) const {
  if (work_.problem.elements > 0) variant.launch(job_of(variant, set), launch_);
}

void BufferedWorkload::run_poisoned(const kernels::Variant& variant) {
  reserve_workspace(variant);
  const GuardedBuffer& workspace = first_workspace(variant);
  sets_.output().poison();
  workspace.poison();
  if (variant.prepare) {
    executor_->run("launch what comes before the kernel", [&] { prepare(variant, 0); });
  }
  executor_->run("launch the kernel", [&] { call(variant, 0); });
  sets_.output().check_guards("output", sets_.output().bytes());
  workspace.check_guards("workspace", workspace_of(variant, work_.problem));
}

record::Verification BufferedWorkload::verify(const kernels::Variant& variant,
                                              std::span<const std::byte> expected) {
  run_poisoned(variant);
  return executor_->judge(work_, expected, sets_.output().data());
}

std::vector<std::byte> BufferedWorkload::output_of(const kernels::Variant& variant) {
  run_poisoned(variant);
  std::vector<std::byte> output(static_cast<std::size_t>(sets_.output().bytes()));
  if (!output.empty()) host_.memory.copy_out(output, sets_.output().data());
  return output;
}

Sample BufferedWorkload::sample(const kernels::Variant& variant, const SampleSpec& spec) {
  reserve_workspace(variant);
  const auto make = [&](std::size_t first_set, int count, record::CacheMode cache) {
    const std::size_t step = cache == record::CacheMode::kHot ? 0 : 1;
    for (int i = 0; i < count; ++i) {
      call(variant, (first_set + static_cast<std::size_t>(i) * step) % jobs().size());
    }
  };
  return executor_->sample({.name = variant.name, .sets = jobs().size(), .make = make}, spec);
}

}  // namespace

std::unique_ptr<Workload> make_workload(const WorkloadHost& host, const Work& work,
                                        const WorkloadPlan& plan,
                                        std::unique_ptr<Executor> executor) {
  return std::make_unique<BufferedWorkload>(host, work, plan, std::move(executor));
}

}  // namespace nf4bench::device
