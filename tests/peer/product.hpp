#pragma once

#include "base/error.hpp"
#include "device/devices.hpp"
#include "nf4/synthetic.hpp"
#include "operation/matmul.hpp"
#include "operation/weight.hpp"

#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace nf4bench::test {

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
        operation::make_work(matmul, {.tensor = weight_, .input = input_}, problem_), kPurpose);
  }

  device::Workload& workload() { return *workload_; }

  // "" when the output is right, "wrong", or the error.
  std::string verdict(const kernels::Variant& variant) {
    try {
      return workload_->verify(variant, expected_).is_exact() ? "" : "wrong";
    } catch (const Error& error) {
      return error.what();
    }
  }

 private:
// Under a sanitizer, which finds stray writes itself, only buffers for timing have guards.
#if defined(__SANITIZE_ADDRESS__)
  static constexpr device::UploadPurpose kPurpose = device::UploadPurpose::kTimeHot;
#else
  static constexpr device::UploadPurpose kPurpose = device::UploadPurpose::kVerify;
#endif

  std::unique_ptr<device::Device> device_ = device::open_cpu_device({});
  nf4::Nf4Tensor weight_;
  kernels::Problem problem_;
  std::vector<std::byte> input_;
  std::vector<std::byte> expected_;
  std::unique_ptr<device::Workload> workload_;
};

}  // namespace nf4bench::test
