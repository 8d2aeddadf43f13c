# Builds and runs project/ in an empty folder, the way its user would.

file(REMOVE_RECURSE ${FOLDER})
set(project ${CMAKE_CURRENT_LIST_DIR}/project)
if(WAY STREQUAL "find_package")
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${VCCL_BINARY_DIR} --prefix ${FOLDER}/prefix
                          COMMAND_ERROR_IS_FATAL ANY)
  set(where -DCMAKE_PREFIX_PATH=${FOLDER}/prefix)
else()
  set(where -DVCCL_SOURCE_DIR=${VCCL_SOURCE_DIR})
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -S ${project} -B ${FOLDER}/build -G Ninja ${where}
                        -DCMAKE_CXX_COMPILER=${COMPILER} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${FOLDER}/build COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${FOLDER}/build/consumer COMMAND_ERROR_IS_FATAL ANY)
