// grouped_wgmma for stacks whose matrices lie transposed.

#include "cuda/matmul/experts/grouped_launch.cuh"

namespace nf4bench::kernels::cuda {

template void launch_grouped<10>(const Job&, const Launch&);
template void launch_grouped<11>(const Job&, const Launch&);
template void launch_grouped<12>(const Job&, const Launch&);

}  // namespace nf4bench::kernels::cuda
