// A library that stands for NCCL where there is none: what the loader asks for, and a count of open groups. Built with
// FAKE_XCCL_IS_NEWER it has what older libraries lack, too.
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace {

int open_groups_count = 0;

struct Id {
  char bytes[128];
};
/// What NCCL 2.27 knows of ncclConfig_t.
struct Config {
  std::size_t size;
  unsigned int magic;
  unsigned int version;
  int fields[4];  // blocking, cgaClusterSize, minCTAs, maxCTAs
  const char* network;
  int more[2];  // splitShare, trafficClass
  const char* name;
  int last[4];  // collnetEnable, CTAPolicy, shrinkShare, nvlsCTAs
};
Config config_given{};

}  // namespace

extern "C" {

int fake_open_groups() { return open_groups_count; }

const void* fake_config() { return &config_given; }

int ncclGetVersion(int* version) {
  const char* wanted = std::getenv("FAKE_XCCL_VERSION");
  *version = wanted == nullptr ? 22809 : std::atoi(wanted);
  return 0;
}
const char* ncclGetErrorString(int /*result*/) { return "unhandled system error"; }
const char* ncclGetLastError(void* /*comm*/) { return "socket closed\nby the other side\n"; }
int ncclGroupStart() {
  ++open_groups_count;
  return 0;
}
int ncclGroupEnd() {
  --open_groups_count;
  return 0;
}
#ifdef FAKE_XCCL_IS_NEWER
int ncclCommRegister(void* /*comm*/, void* address, std::size_t bytes, void** handle) {
  const char* wanted = std::getenv("NCCL_LOCAL_REGISTER");
  const bool registers = wanted == nullptr || std::strcmp(wanted, "0") != 0;
  *handle = registers ? address : nullptr;
  return bytes == 0 ? 1 : 0;
}
int ncclCommInitRankConfig(void** /*comm*/, int /*members*/, Id /*id*/, int /*member*/, Config* config) {
  config_given = *config;
  return 0;
}
#endif

// Found and never called.
int ncclGetUniqueId() { return 1; }
int ncclCommInitRank() { return 1; }
int ncclCommDestroy() { return 1; }
int ncclCommAbort() { return 1; }
int ncclCommGetAsyncError() { return 1; }
int ncclAllReduce() { return 1; }
int ncclReduce() { return 1; }
int ncclBroadcast() { return 1; }
int ncclReduceScatter() { return 1; }
int ncclAllGather() { return 1; }
int ncclSend() { return 1; }
int ncclRecv() { return 1; }
#ifdef FAKE_XCCL_IS_NEWER
int ncclAlltoAll() { return 1; }
int ncclMemAlloc() { return 1; }
int ncclMemFree() { return 1; }
int ncclCommDeregister() { return 1; }
int ncclCommWindowRegister() { return 1; }
int ncclCommWindowDeregister() { return 1; }
#endif
}
