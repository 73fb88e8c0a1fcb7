# The environment to the cache: a variable that has no value yet takes it from the environment
# variable of its name. This comes after project(), so it is too late for the compiler's variables.

function(forward name variable)
  if(DEFINED ENV{${name}} AND NOT DEFINED ${variable})
    set(${variable} "$ENV{${name}}" CACHE STRING "From the environment variable ${name}" FORCE)
  endif()
endfunction()

# CMake cannot list its environment. Only names are asked for, since a value may hold anything.
set(_script [=[
import os, re
wanted = re.compile(r"(BUILD|USE|CMAKE)_\w+|\w+EXITCODE(__TRYRUN_OUTPUT)?", re.ASCII)
print(*sorted(name for name in os.environ if wanted.fullmatch(name)), sep=";")
]=])
execute_process(
  COMMAND "${Python_EXECUTABLE}" -c "${_script}"
  OUTPUT_VARIABLE _names OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE _result)
if(NOT _result EQUAL 0)
  message(FATAL_ERROR "${Python_EXECUTABLE} could not list the environment: ${_result}")
endif()

foreach(_name IN LISTS _names
        ITEMS BLAS CUDA_HOST_COMPILER CUDA_NVCC_EXECUTABLE TORCH_CUDA_ARCH_LIST)
  forward(${_name} ${_name})
endforeach()

# Second choice: used where the variable on the right has no value of its own.
forward(CUDAHOSTCXX CUDA_HOST_COMPILER)
forward(CMAKE_CUDA_HOST_COMPILER CUDA_HOST_COMPILER)
forward(CUDACXX CUDA_NVCC_EXECUTABLE)
forward(CMAKE_CUDA_COMPILER CUDA_NVCC_EXECUTABLE)
