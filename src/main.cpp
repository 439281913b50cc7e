#include "cli/app.hpp"
#include "cli/process_setup.hpp"

int main(int argc, char** argv) {
  nf4bench::set_up_process();
  return nf4bench::run_app(argc, argv);
}
