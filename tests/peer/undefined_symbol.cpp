// Loads nowhere: it calls what nobody defines.
extern "C" void nf4bench_test_defined_nowhere();
extern "C" __attribute__((visibility("default"))) void nf4bench_peer_v1() {
  nf4bench_test_defined_nowhere();
}
