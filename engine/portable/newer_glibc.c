// What glibc has had only since 2.28, for engines that run on 2.28: linked into those of the wheel and nothing else.
// A symbol is here where headers or the static libstdc++ of some compiler ask for it; all are hidden, so that the
// libraries that an engine loads go on to find glibc's own.
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The headers would send these names to newer symbols.
#define HIDDEN __attribute__((visibility("hidden")))
typedef struct stat_buffer stat_buffer;
typedef struct stream stream;
#ifdef __x86_64__
enum { stat_version = 1 };
#else
enum { stat_version = 0 };
#endif
enum { nanoseconds = 1000000000 };

// 2.32: false, so that shared_ptr counts by atomic operations always.
HIDDEN char __libc_single_threaded = 0;

// 2.36
HIDDEN uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  return value;
}

// 2.30
HIDDEN pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

// 2.29
HIDDEN int getcpu(unsigned* cpu, unsigned* node) { return (int)syscall(SYS_getcpu, cpu, node, (void*)0); }

// 2.33
int __xstat(int version, const char* path, stat_buffer* buffer);
int __lxstat(int version, const char* path, stat_buffer* buffer);
int __fxstat(int version, int file, stat_buffer* buffer);
int __fxstatat(int version, int folder, const char* path, stat_buffer* buffer, int flags);
HIDDEN int stat(const char* path, stat_buffer* buffer) { return __xstat(stat_version, path, buffer); }
HIDDEN int lstat(const char* path, stat_buffer* buffer) { return __lxstat(stat_version, path, buffer); }
HIDDEN int fstat(int file, stat_buffer* buffer) { return __fxstat(stat_version, file, buffer); }
HIDDEN int fstatat(int folder, const char* path, stat_buffer* buffer, int flags) {
  return __fxstatat(stat_version, folder, path, buffer, flags);
}

// 2.30: a deadline on a clock of one's own. The older functions know CLOCK_REALTIME.
static struct timespec by_realtime(clockid_t clock, const struct timespec* deadline) {
  struct timespec here;
  struct timespec real;
  clock_gettime(clock, &here);
  clock_gettime(CLOCK_REALTIME, &real);
  real.tv_sec += deadline->tv_sec - here.tv_sec;
  real.tv_nsec += deadline->tv_nsec - here.tv_nsec;
  if (real.tv_nsec < 0) {
    real.tv_nsec += nanoseconds;
    --real.tv_sec;
  } else if (real.tv_nsec >= nanoseconds) {
    real.tv_nsec -= nanoseconds;
    ++real.tv_sec;
  }
  return real;
}
int pthread_cond_timedwait(void* condition, void* mutex, const struct timespec* deadline);
int pthread_mutex_timedlock(void* mutex, const struct timespec* deadline);
HIDDEN int pthread_cond_clockwait(void* condition, void* mutex, clockid_t clock, const struct timespec* deadline) {
  const struct timespec real = by_realtime(clock, deadline);
  return pthread_cond_timedwait(condition, mutex, &real);
}
HIDDEN int pthread_mutex_clocklock(void* mutex, clockid_t clock, const struct timespec* deadline) {
  const struct timespec real = by_realtime(clock, deadline);
  return pthread_mutex_timedlock(mutex, &real);
}

// 2.38: the readers of numbers that know C23's binary digits, which nobody here writes.
long strtol(const char* text, char** end, int base);
unsigned long strtoul(const char* text, char** end, int base);
long long strtoll(const char* text, char** end, int base);
unsigned long long strtoull(const char* text, char** end, int base);
int vsscanf(const char* text, const char* format, va_list values);
int vfscanf(stream* file, const char* format, va_list values);
HIDDEN long __isoc23_strtol(const char* text, char** end, int base) { return strtol(text, end, base); }
HIDDEN unsigned long __isoc23_strtoul(const char* text, char** end, int base) { return strtoul(text, end, base); }
HIDDEN long long __isoc23_strtoll(const char* text, char** end, int base) { return strtoll(text, end, base); }
HIDDEN unsigned long long __isoc23_strtoull(const char* text, char** end, int base) {
  return strtoull(text, end, base);
}
HIDDEN int __isoc23_vsscanf(const char* text, const char* format, va_list values) {
  return vsscanf(text, format, values);
}
HIDDEN int __isoc23_sscanf(const char* text, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int read = vsscanf(text, format, values);
  va_end(values);
  return read;
}
HIDDEN int __isoc23_fscanf(stream* file, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int read = vfscanf(file, format, values);
  va_end(values);
  return read;
}
