# linkscope-engine-hip, where hipcc is. hipcc is called as such: CMake's HIP language wants a whole ROCm with its
# CMake packages and refuses a distribution's hipcc.
if(LINKSCOPE_HIP STREQUAL "OFF")
  return()
endif()
find_program(LINKSCOPE_HIPCC hipcc HINTS /opt/rocm/bin)
find_library(LINKSCOPE_AMDHIP64 amdhip64 HINTS /opt/rocm/lib)
find_path(LINKSCOPE_HIP_INCLUDE_DIR hip/hip_runtime.h HINTS /opt/rocm/include)
if(NOT LINKSCOPE_HIPCC OR NOT LINKSCOPE_AMDHIP64 OR NOT LINKSCOPE_HIP_INCLUDE_DIR)
  if(LINKSCOPE_HIP STREQUAL "ON")
    message(FATAL_ERROR "LINKSCOPE_HIP=ON, but there is no hipcc with libamdhip64")
  endif()
  message(STATUS "no hipcc: linkscope-engine-hip is left out")
  return()
endif()
if(NOT CMAKE_HIP_ARCHITECTURES)
  set(CMAKE_HIP_ARCHITECTURES gfx90a)
endif()
list(TRANSFORM CMAKE_HIP_ARCHITECTURES PREPEND "--offload-arch=" OUTPUT_VARIABLE hip_architectures)

set(hip_objects)
foreach(source IN LISTS gpu_kernels)
  get_filename_component(name ${source} NAME)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/hip/${name}.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/hip
    COMMAND ${LINKSCOPE_HIPCC} -x hip -std=c++20 -O3 -DNDEBUG -fPIC -Wall ${hip_architectures}
            -I${CMAKE_CURRENT_SOURCE_DIR} -MD -MF ${object}.d -c ${source} -o ${object}
    DEPENDS ${source}
    DEPFILE ${object}.d
    COMMENT "Building HIP object ${name}.o"
    VERBATIM)
  list(APPEND hip_objects ${object})
endforeach()

add_library(linkscope_backend_hip OBJECT ${gpu_sources})
linkscope_flags(linkscope_backend_hip)
target_compile_definitions(linkscope_backend_hip PRIVATE __HIP_PLATFORM_AMD__)
target_include_directories(linkscope_backend_hip SYSTEM PRIVATE ${LINKSCOPE_HIP_INCLUDE_DIR})
target_link_libraries(linkscope_backend_hip PUBLIC linkscope_backend_host ${CMAKE_DL_LIBS})
linkscope_engine(hip SOURCES $<TARGET_OBJECTS:linkscope_backend_hip> ${hip_objects} LINK ${LINKSCOPE_AMDHIP64})
