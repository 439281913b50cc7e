#include "doctor/checks/checks.hpp"

namespace nf4bench::doctor {

// Microsoft's builds are called "5.15.167.4-microsoft-standard-WSL2". WSL 1, which has no GPU,
// writes its "Microsoft" with a capital letter.
std::optional<Finding> check_wsl(const std::string& kernel) {
  if (kernel.find("microsoft") == std::string::npos) return std::nullopt;
  return Finding{
      "wsl", Severity::kNote, "WSL 2: this Linux (" + kernel + ") runs beside Windows",
      "Windows' driver owns the GPU: its desktop and programs share it unseen, and plain launches "
      "wait for its scheduler",
      "close what draws in Windows, and set clocks and power with nvidia-smi there, as "
      "administrator"};
}

}  // namespace nf4bench::doctor
