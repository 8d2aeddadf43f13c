# The installed package: vccl::core needs nothing but a C++20 compiler.
include(${CMAKE_CURRENT_LIST_DIR}/vccl-targets.cmake)
