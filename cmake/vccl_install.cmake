# Installs the headers and the package that find_package(vccl) finds.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(vccl_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/vccl)
install(TARGETS vccl_core EXPORT vccl-targets FILE_SET HEADERS)
install(EXPORT vccl-targets NAMESPACE vccl:: DESTINATION ${vccl_package_dir})
if(TARGET vccl_verbs)
  install(TARGETS vccl_verbs EXPORT vccl-verbs-targets FILE_SET HEADERS)
  install(EXPORT vccl-verbs-targets NAMESPACE vccl:: DESTINATION ${vccl_package_dir})
endif()
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/vccl-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/vccl-config.cmake
              ${PROJECT_BINARY_DIR}/vccl-config-version.cmake DESTINATION ${vccl_package_dir})
