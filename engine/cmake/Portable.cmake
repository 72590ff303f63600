# LINKSCOPE_ZIG: engines that run wherever glibc is 2.28 or later, whatever it is here. The compilers are this machine's;
# zig links, against the stubs of that glibc which it carries. libstdc++, libgcc and libnuma become part of the engines.
set(LINKSCOPE_ZIG "" CACHE FILEPATH "zig, to link the engines for glibc 2.28 and later; empty: for this machine's")
if(NOT LINKSCOPE_ZIG)
  return()
endif()
enable_language(C)
find_library(LINKSCOPE_NUMA libnuma.a)
set(runtime)
foreach(library libstdc++.a libgcc.a)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library} OUTPUT_VARIABLE path
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND runtime " ${path}")
endforeach()
# What the machine's headers and libstdc++ ask of a newer glibc.
add_library(linkscope_newer_glibc OBJECT portable/newer_glibc.c)
set(CMAKE_CXX_LINK_EXECUTABLE
    "${LINKSCOPE_ZIG} cc -target ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu.2.28 -s -Wl,--allow-shlib-undefined <OBJECTS> -o <TARGET> \
<LINK_LIBRARIES> ${runtime} -lunwind -lm -lpthread -ldl -lrt")
