#pragma once

#include "device/devices.hpp"
#include "error_of.hpp"
#include "nf4/synthetic.hpp"
#include "operation/matmul.hpp"
#include "operation/weight.hpp"
#include "peer/peers.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace nf4bench::test {

// Under a sanitizer, which finds stray writes itself, only buffers for timing have guards.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr device::UploadPurpose kGuarded = device::UploadPurpose::kTimeHot;
#else
inline constexpr device::UploadPurpose kGuarded = device::UploadPurpose::kVerify;
#endif

inline const kernels::Variant& find(const peer::Peers& peers, const std::string& name) {
  const auto found = std::ranges::find(peers.variants(), name, &kernels::Variant::name);
  if (found == peers.variants().end()) throw std::runtime_error("no variant " + name);
  return *found;
}

// "" when the output of `variant` is right, "wrong", or the error of the device.
inline std::string verdict_of(device::Workload& workload, const kernels::Variant& variant,
                              const std::vector<std::byte>& expected) {
  bool is_right = false;
  const std::string error =
      error_of(ErrorKind::kDevice, [&] { is_right = workload.verify(variant, expected).passed(); });
  return is_right || !error.empty() ? error : "wrong";
}

// A product on the CPU device, and what is expected of it.
class Product {
 public:
  Product(const nf4::SyntheticSpec& spec, nf4::OutputType type, std::int64_t tokens)
      : weight_(nf4::make_synthetic(spec)), problem_(operation::problem_of(weight_, type)) {
    problem_.tokens = tokens;
    const operation::Operation& matmul = operation::matmul();
    input_ = matmul.make_input(problem_, {});
    expected_ =
        matmul.reference(weight_, problem_, input_, std::numeric_limits<std::int64_t>::max());
    workload_ = device_->upload(
        operation::make_work(matmul, {.tensor = weight_, .input = input_}, problem_), kGuarded);
  }

  device::Workload& workload() { return *workload_; }

  std::string verdict(const kernels::Variant& variant) {
    return verdict_of(*workload_, variant, expected_);
  }

 private:
  std::unique_ptr<device::Device> device_ = device::open_cpu_device({});
  nf4::Nf4Tensor weight_;
  kernels::Problem problem_;
  std::vector<std::byte> input_;
  std::vector<std::byte> expected_;
  std::unique_ptr<device::Workload> workload_;
};

}  // namespace nf4bench::test
