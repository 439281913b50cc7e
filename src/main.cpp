#include "cli/app.hpp"
#include "cli/process_setup.hpp"

int main(int argc, char** argv) {
  nf4bench::cli::set_up_process();
  return nf4bench::cli::run_app(argc, argv);
}
