// Cannot be loaded: it calls a function that does not exist.
extern "C" void nf4bench_test_defined_nowhere();
extern "C" __attribute__((visibility("default"))) void nf4bench_peer_v2() {
  nf4bench_test_defined_nowhere();
}
