# What the engines load to call MPI: one source, compiled against our declarations of the standard ABI and, where the site
# has an mpicc, against its mpi.h. Neither is linked into an engine.
enable_language(C)

function(linkscope_adapter_place target)
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  install(TARGETS ${target} LIBRARY DESTINATION linkscope/_engine COMPONENT engine)
endfunction()

# Its MPI functions are found in the library that the engine has loaded before.
add_library(linkscope-mpi-abi MODULE backend/mpi/adapter.c)
target_include_directories(linkscope-mpi-abi PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/backend/mpi/abi)
target_compile_options(linkscope-mpi-abi PRIVATE -std=c11 -Wall -Wextra -Wshadow -Wconversion)
linkscope_adapter_place(linkscope-mpi-abi)

if(LINKSCOPE_MPI STREQUAL "OFF")
  return()
endif()
find_program(LINKSCOPE_MPICC NAMES $ENV{MPICC} mpicc DOC "The compiler wrapper of the site's MPI")
if(NOT LINKSCOPE_MPICC)
  if(LINKSCOPE_MPI STREQUAL "ON")
    message(FATAL_ERROR "LINKSCOPE_MPI=ON, but there is no mpicc: name it by MPICC in the environment")
  endif()
  message(STATUS "no mpicc: liblinkscope-mpi-site.so is left out")
  return()
endif()

# The wrapper is called as such: it knows which compiler, headers, libraries and run paths its MPI wants.
set(site_adapter ${PROJECT_BINARY_DIR}/liblinkscope-mpi-site.so)
add_custom_command(
  OUTPUT ${site_adapter}
  COMMAND ${LINKSCOPE_MPICC} -std=c11 -O2 -fPIC -shared -I${CMAKE_CURRENT_SOURCE_DIR}
          ${CMAKE_CURRENT_SOURCE_DIR}/backend/mpi/adapter.c -o ${site_adapter}
  DEPENDS backend/mpi/adapter.c backend/mpi/functions.h
  COMMENT "Building liblinkscope-mpi-site.so by ${LINKSCOPE_MPICC}"
  VERBATIM)
add_custom_target(linkscope-mpi-site ALL DEPENDS ${site_adapter})
install(FILES ${site_adapter} DESTINATION linkscope/_engine COMPONENT engine)
