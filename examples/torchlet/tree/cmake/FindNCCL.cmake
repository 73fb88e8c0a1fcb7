# NCCL_ROOT and the prefix path come first, as find_path and find_library have it; NCCL_INCLUDE_DIR
# and NCCL_LIB_DIR are hints only. Results stay in the cache: NCCL_INCLUDE_DIRS, NCCL_LIBRARIES.

# Without FORCE, so the environment of the first configure step is the one that counts.
set(NCCL_INCLUDE_DIR "$ENV{NCCL_INCLUDE_DIR}" CACHE PATH "Folder of nccl.h")
set(NCCL_LIB_DIR "$ENV{NCCL_LIB_DIR}" CACHE PATH "Folder of libnccl.so")
set(NCCL_VERSION "$ENV{NCCL_VERSION}" CACHE STRING "N of libnccl.so.N")
list(APPEND CMAKE_PREFIX_PATH $ENV{NCCL_ROOT_DIR} "${CUDA_TOOLKIT_ROOT_DIR}")

if(NCCL_VERSION)
  list(PREPEND CMAKE_FIND_LIBRARY_SUFFIXES ".so.${NCCL_VERSION}")
endif()
find_path(NCCL_INCLUDE_DIRS nccl.h HINTS "${NCCL_INCLUDE_DIR}")
find_library(NCCL_LIBRARIES nccl HINTS "${NCCL_LIB_DIR}")
if(NCCL_VERSION)
  list(POP_FRONT CMAKE_FIND_LIBRARY_SUFFIXES)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_INCLUDE_DIRS NCCL_LIBRARIES)

if(NCCL_FOUND)
  file(STRINGS "${NCCL_INCLUDE_DIRS}/nccl.h" _numbers REGEX "define NCCL_(MAJOR|MINOR|PATCH) ")
  string(REGEX MATCHALL "[0-9]+" _numbers "${_numbers}")
  list(JOIN _numbers "." _numbers)
  message(STATUS "NCCL version: ${_numbers}")
  message(STATUS "Found NCCL (include: ${NCCL_INCLUDE_DIRS}, library: ${NCCL_LIBRARIES})")
endif()
