#include "torchlet.h"

int main() {
  const torchlet::Matrix row{1, 2, {1.0, 2.0}};
  const torchlet::Matrix column{2, 1, {3.0, 4.0}};
  const torchlet::Matrix product = torchlet::matmul(row, column);
  return product.values == std::vector<double>{11.0} ? 0 : 1;
}
