#pragma once

// Order between a stream of ours, which does not wait for the default stream, and launches that a
// library makes on the default stream. Host compiler only. What fails here shows up in
// cudaGetLastError, as a failed launch does.

struct CUstream_st;

namespace nf4bench::kernels::cuda {

// What is enqueued on the default stream from now on waits for what is on `stream`.
void default_stream_waits_for(CUstream_st* stream);

// What is enqueued on `stream` from now on waits for what is on the default stream.
void wait_for_default_stream(CUstream_st* stream);

}  // namespace nf4bench::kernels::cuda
