#include "device/devices.hpp"

#include "base/error.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

// The kind and the line of the error that opening `name` ends with.
std::pair<ErrorKind, std::string> failure_of(const std::string& name) {
  try {
    device::open_device(name, {});
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  ADD_FAILURE() << "opened " << name;
  return {};
}

// Times of a GPU stand still from there on, see docs/method.md.
TEST(Rotation, TouchesTwentyCachesOfAGpuAndFiveOfACpu) {
  EXPECT_EQ(device::default_rotation(record::DeviceKind::kCuda), 20);
  EXPECT_EQ(device::default_rotation(record::DeviceKind::kCpu), 5);
}

TEST(Rotation, HasOneSetMoreThanIsToBeTouched) {
  EXPECT_EQ(device::cold_sets(100, 999), 11);
  EXPECT_EQ(device::cold_sets(100, 1000), 11);
  EXPECT_EQ(device::cold_sets(100, 1001), 12);
  EXPECT_EQ(device::cold_sets(0, 1000), 1);
}

TEST(Devices, TheCpuIsListedLast) {
  const device::DeviceListing listing = device::list_devices();
  ASSERT_FALSE(listing.devices.empty());
  EXPECT_EQ(listing.devices.back().id, "cpu");
  EXPECT_EQ(listing.devices.back().kind, record::DeviceKind::kCpu);
  EXPECT_EQ(listing.devices.size() == 1, !listing.cuda_problem.empty());
}

TEST(Devices, AutoTakesTheFirstThatIsThere) {
  EXPECT_EQ(device::open_device("auto", {})->info().id, device::list_devices().devices.front().id);
}

TEST(Devices, OpensTheCpuByName) {
  EXPECT_EQ(device::open_device("cpu", {})->info().kind, record::DeviceKind::kCpu);
}

TEST(Devices, RefusesWordsThatNameNoDevice) {
  for (const char* name : {"", "gpu", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:0x", "cuda: 1",
                           "cuda0", "cpu:0", "cuda:99999999999999999999"}) {
    const auto [kind, message] = failure_of(name);
    EXPECT_EQ(kind, ErrorKind::kUsage) << name;
    EXPECT_NE(message.find("auto, cpu, cuda or cuda:N"), std::string::npos) << message;
  }
}

TEST(Devices, SeveralAreNamedByAllOrByAList) {
  for (const char* name : {"all", "cuda:all", "cuda:0,1"}) {
    EXPECT_TRUE(device::names_several(name)) << name;
  }
  for (const char* name : {"auto", "cpu", "cuda", "cuda:0", "0,1", "cpu,cuda:0"}) {
    EXPECT_FALSE(device::names_several(name)) << name;
  }
  EXPECT_EQ(device::several_devices("cuda:2,0"), (std::vector<int>{2, 0}));
  for (const char* name : {"cuda:0,", "cuda:,0", "cuda:0,x", "cuda:0,0", "cuda:0,cuda:1"}) {
    EXPECT_THROW(device::several_devices(name), Error) << name;
  }
}

TEST(Devices, EscapesWhatItQuotes) {
  EXPECT_NE(failure_of("\x1b[31m").second.find("\\x1b[31m"), std::string::npos);
}

TEST(Devices, SaysWhyACudaDeviceIsNotThere) {
  const auto [kind, message] = failure_of("cuda:1000");
  EXPECT_EQ(kind, ErrorKind::kDevice);
  EXPECT_NE(message.find("cuda:1000"), std::string::npos) << message;
  const std::string problem = device::list_devices().cuda_problem;
  if (!problem.empty()) {
    EXPECT_NE(message.find(problem), std::string::npos) << message;
    EXPECT_EQ(failure_of("cuda").first, ErrorKind::kDevice);
  }
}

TEST(DeviceName, IsCheckedForItsSpelling) {
  for (const char* good : {"auto", "cpu", "cuda", "cuda:0", "cuda:15"}) {
    EXPECT_NO_THROW(device::check_device_name(good)) << good;
  }
  for (const char* bad : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda0", "cpu:0", "CUDA",
                          "cuda:99999999999999999999"}) {
    EXPECT_THROW(device::check_device_name(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace nf4bench
