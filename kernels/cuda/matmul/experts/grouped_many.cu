// grouped_wgmma for many slots of an expert, whose products are those of warpgroups.

#include "cuda/matmul/experts/grouped_launch.cuh"

namespace nf4bench::kernels::cuda {

template void launch_grouped<6>(const Job&, const Launch&);
template void launch_grouped<7>(const Job&, const Launch&);
template void launch_grouped<8>(const Job&, const Launch&);
template void launch_grouped<9>(const Job&, const Launch&);

}  // namespace nf4bench::kernels::cuda
