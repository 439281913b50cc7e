#include "cli/app.hpp"

int main(int argc, char** argv) {
  return nf4bench::run_app(argc, argv);
}
