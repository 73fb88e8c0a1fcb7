#include "torchlet.h"

#include <cuda_runtime.h>

#include <memory>
#include <stdexcept>

namespace torchlet {

namespace {

__global__ void multiply(const double* a, const double* b, double* product, std::size_t rows,
                         std::size_t inner, std::size_t columns) {
  const std::size_t at = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (at >= rows * columns) {
    return;
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < inner; ++i) {
    sum += a[at / columns * inner + i] * b[i * columns + at % columns];
  }
  product[at] = sum;
}

void check(cudaError_t error) {
  if (error != cudaSuccess) {
    throw std::runtime_error(cudaGetErrorString(error));
  }
}

struct DeviceFree {
  void operator()(double* memory) const { cudaFree(memory); }
};

using DeviceMemory = std::unique_ptr<double, DeviceFree>;

DeviceMemory allocate(std::size_t count) {
  double* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(double)));
  return DeviceMemory(memory);
}

DeviceMemory upload(const std::vector<double>& values) {
  DeviceMemory memory = allocate(values.size());
  check(cudaMemcpy(memory.get(), values.data(), values.size() * sizeof(double),
                   cudaMemcpyHostToDevice));
  return memory;
}

}  // namespace

Matrix cuda_matmul(const Matrix& a, const Matrix& b) {
  check_shapes(a, b);
  Matrix product{a.rows, b.columns, std::vector<double>(a.rows * b.columns)};
  if (product.values.empty() || a.columns == 0) {
    return product;
  }
  const DeviceMemory left = upload(a.values);
  const DeviceMemory right = upload(b.values);
  const DeviceMemory result = allocate(product.values.size());
  constexpr unsigned threads = 128;
  const unsigned blocks = static_cast<unsigned>((product.values.size() + threads - 1) / threads);
  multiply<<<blocks, threads>>>(left.get(), right.get(), result.get(), a.rows, a.columns,
                                b.columns);
  check(cudaGetLastError());
  check(cudaMemcpy(product.values.data(), result.get(), product.values.size() * sizeof(double),
                   cudaMemcpyDeviceToHost));
  return product;
}

int cuda_compiled_version() { return CUDART_VERSION; }

}  // namespace torchlet
