// Times on a machine with other work. Bounds are wide: this machine may have other work already.

#include "device/burners.hpp"
#include "device/cpu/cpu_facts.hpp"
#include "device/cpu/host_load.hpp"
#include "device/devices.hpp"
#include "nf4/synthetic.hpp"
#include "operation/dequantize.hpp"
#include "operation/weight.hpp"
#include "statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace nf4bench {
namespace {

class LoadedMachine : public testing::Test {
 protected:
  LoadedMachine() {
    const nf4::Nf4Tensor tensor = nf4::make_synthetic(
        {.shape = {512, 1024}, .distribution = nf4::Distribution::kRandomCodes});
    workload_ = device_->upload(operation::dequantize_work(tensor, nf4::OutputType::kBfloat16),
                                device::UploadPurpose::kTimeHot);
  }

  double median_of(const kernels::Variant& variant) {
    std::vector<double> samples;
    while (samples.size() < 51) {
      samples.push_back(
          workload_->sample(variant, {record::CacheMode::kHot, record::LaunchMode::kStream, 1})
              .seconds);
    }
    return statistics::median(samples);
  }

  std::unique_ptr<device::Device> device_ = device::open_cpu_device({});
  std::unique_ptr<device::Workload> workload_;
};

// Half of the processors are another's: no thread may wait for its turn in every call. With teams
// that wait for all of their threads a call takes a time slice, 10 to 100 times as long.
TEST_F(LoadedMachine, SlowsThreadedVariantsByNoMoreThanThree) {
  const std::vector<int> processors = device::allowed_processors();
  if (processors.size() < 2) GTEST_SKIP() << "needs two processors";
  const std::vector<int> half(
      processors.begin(), processors.begin() + static_cast<std::ptrdiff_t>(processors.size() / 2));
  for (const kernels::Variant& variant :
       operation::dequantize().catalog(device_->info().kind).variants) {
    if (variant.name == std::string("reference")) continue;  // one thread
    double ratio = 0.0;
    for (int attempt = 0; attempt < 5; ++attempt) {
      const double quiet_s = median_of(variant);
      const Burners burners(half);
      ratio = median_of(variant) / quiet_s;
      if (ratio <= 3.0) break;
    }
    EXPECT_LE(ratio, 3.0) << variant.name;
  }
}

TEST_F(LoadedMachine, IsSeenToBeOne) {
  const std::vector<int> processors = device::allowed_processors();
  const Burners burners(processors);
  const device::LoadReading start = device::read_load();
  usleep(1'000'000);
  const auto load = device::load_between(start, device::read_load());
  ASSERT_TRUE(load);
  EXPECT_GT(load->others + load->stolen * load->processors, 0.8 * load->processors);
  EXPECT_TRUE(record::is_disturbed(*load, load->processors));
}

}  // namespace
}  // namespace nf4bench
