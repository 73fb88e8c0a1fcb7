#include "torchlet.h"

#include <nanofmt.h>

#include <stdexcept>
#include <utility>

#ifdef USE_MPI
#include <mpi.h>
#endif
#ifdef USE_SYSTEM_NCCL
#include <nccl.h>
#endif

#ifdef TORCHLET_BLAS
// The Fortran symbol: every BLAS has it, with or without a C header.
extern "C" void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
                       const double*, const int*, const double*, const int*, const double*, double*,
                       const int*);
#endif

namespace torchlet {

namespace {

const std::vector<std::pair<std::string, std::string>> build_settings = {
#include "build_settings.inc"
};

void multiply(const Matrix& a, const Matrix& b, Matrix& product) {
#ifdef TORCHLET_BLAS
  // BLAS is column-major, so it is asked for the transposed product of swapped arguments.
  const int m = static_cast<int>(a.rows);
  const int n = static_cast<int>(b.columns);
  const int k = static_cast<int>(a.columns);
  const double one = 1.0;
  const double zero = 0.0;
  dgemm_("N", "N", &n, &m, &k, &one, b.values.data(), &n, a.values.data(), &k, &zero,
         product.values.data(), &n);
#else
#pragma omp parallel for
  for (std::size_t row = 0; row < a.rows; ++row) {
    for (std::size_t inner = 0; inner < a.columns; ++inner) {
      const double factor = a.values[row * a.columns + inner];
      for (std::size_t column = 0; column < b.columns; ++column) {
        product.values[row * b.columns + column] += factor * b.values[inner * b.columns + column];
      }
    }
  }
#endif
}

}  // namespace

void check_shapes(const Matrix& a, const Matrix& b) {
  if (a.columns == b.rows) {
    return;
  }
  throw std::invalid_argument(
      nanofmt::format("cannot multiply a {}x{} matrix by a {}x{} one",
                      {std::to_string(a.rows), std::to_string(a.columns), std::to_string(b.rows),
                       std::to_string(b.columns)}));
}

Matrix matmul(const Matrix& a, const Matrix& b) {
  check_shapes(a, b);
  Matrix product{a.rows, b.columns, std::vector<double>(a.rows * b.columns)};
  if (!product.values.empty() && a.columns != 0) {
    multiply(a, b, product);
  }
  return product;
}

std::string show_config() {
  std::string text = "torchlet built with:\n";
#ifdef __GNUC__
  text += nanofmt::format("  - GCC {}.{}\n",
                          {std::to_string(__GNUC__), std::to_string(__GNUC_MINOR__)});
#endif
  text += nanofmt::format("  - C++ Version: {}\n", {std::to_string(__cplusplus)});
#ifdef _OPENMP
  text += nanofmt::format("  - OpenMP {}\n", {std::to_string(_OPENMP)});
#endif
  text += "  - Build settings: ";
  for (const auto& [key, value] : build_settings) {
    text += nanofmt::format("{}={}, ", {key, value});
  }
  return text + "\n";
}

#ifdef USE_SYSTEM_NCCL
int nccl_version() {
  int version = 0;
  ncclGetVersion(&version);
  return version;
}
#endif

#ifdef USE_MPI
int mpi_version() {
  int major = 0;
  int minor = 0;
  MPI_Get_version(&major, &minor);
  return major * 10 + minor;
}
#endif

}  // namespace torchlet
