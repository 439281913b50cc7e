/* Stands in for the header that triton.tools.link writes, so that triton_peer.c can be built
 * without Triton. Replace it, and triton_stand_in.cu, by the generated files. */
#ifndef NF4_NESTED_H
#define NF4_NESTED_H

#include <cuda.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C"
#endif
    CUresult
    nf4_nested_default(CUstream stream, CUdeviceptr packed, CUdeviceptr codes,
                       CUdeviceptr nested_absmax, CUdeviceptr map, CUdeviceptr output, float offset,
                       int64_t elements, int32_t block_shift);

#endif
