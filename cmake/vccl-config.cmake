# The installed package: vccl::core needs nothing but a C++20 compiler.
include(${CMAKE_CURRENT_LIST_DIR}/vccl-targets.cmake)

# vccl::verbs is there when it was installed with libibverbs and libibverbs is here too.
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/vccl-verbs-targets.cmake)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(VCCL_IBVERBS QUIET IMPORTED_TARGET libibverbs)
  endif()
  if(TARGET PkgConfig::VCCL_IBVERBS)
    include(${CMAKE_CURRENT_LIST_DIR}/vccl-verbs-targets.cmake)
  endif()
endif()
