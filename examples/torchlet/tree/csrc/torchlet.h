#pragma once

#include <cstddef>
#include <string>
#include <vector>

#define TORCHLET_API __attribute__((visibility("default")))

namespace torchlet {

// Row-major.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;
};

// Throws std::invalid_argument unless a.columns == b.rows.
TORCHLET_API void check_shapes(const Matrix& a, const Matrix& b);

TORCHLET_API Matrix matmul(const Matrix& a, const Matrix& b);

// What the library was built with, one line each.
TORCHLET_API std::string show_config();

#ifdef USE_SYSTEM_NCCL
// Of the library that was loaded, not of the header that was compiled against.
TORCHLET_API int nccl_version();
#endif

#ifdef USE_MPI
TORCHLET_API int mpi_version();
#endif

#ifdef USE_CUDA
// These live in libtorchlet_cuda.so.
TORCHLET_API Matrix cuda_matmul(const Matrix& a, const Matrix& b);
TORCHLET_API int cuda_compiled_version();
#endif

}  // namespace torchlet
