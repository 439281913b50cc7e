#include "cli/app.hpp"

int main(int argc, char** argv) {
  return nf4bench::cli::run_app(argc, argv);
}
