# CMake's toolchain file of continuous integration: it asks whether code compiles and is right, not how fast it is.
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG" CACHE STRING "")
set(CMAKE_CUDA_FLAGS_RELEASE "-O1 -DNDEBUG" CACHE STRING "")
