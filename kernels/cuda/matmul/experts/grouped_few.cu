// grouped_wgmma for few slots of an expert, whose products are those of single warps.

#include "cuda/matmul/experts/grouped_launch.cuh"

namespace nf4bench::kernels::cuda {

template void launch_grouped<0>(const Job&, const Launch&);
template void launch_grouped<1>(const Job&, const Launch&);
template void launch_grouped<2>(const Job&, const Launch&);
template void launch_grouped<3>(const Job&, const Launch&);
template void launch_grouped<4>(const Job&, const Launch&);
template void launch_grouped<5>(const Job&, const Launch&);

}  // namespace nf4bench::kernels::cuda
