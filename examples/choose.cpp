// Picks at run time how to move so many bytes, from a header that `linkscope choose RUN --export header` wrote.
//
//     linkscope choose RUN --export header -o linkscope_choices.h
//     c++ -std=c++17 choose.cpp -o choose && ./choose "GPU to GPU" 65536
#include "linkscope_choices.h"

#include <cstdio>
#include <cstdlib>

static_assert(LINKSCOPE_CHOICES_VERSION == 1);

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s MOVEMENT BYTES\n", arguments[0]);
    return 2;
  }
  const unsigned long long bytes = std::strtoull(arguments[2], nullptr, 10);
  const char* use = linkscope_choose(arguments[1], nullptr, nullptr, nullptr, bytes);
  if (use == nullptr) {
    std::fprintf(stderr, "nothing was measured of %s\n", arguments[1]);
    return 1;
  }
  std::puts(use);  // a program would call its own function for this way here
}
