/*
 * Preloaded into a process: counts its calls that change what is below the folder STOP_BELOW, and ends the process by
 * SIGKILL before the call with the number STOP_AT, or with STOP_HOW=EIO lets that call fail. Of the writes to one file
 * that follow each other the first three count. At its end the process leaves how many calls there were in the file
 * STOP_COUNT.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int calls;
static char last[4096];
static int repeated;

static int is_below(const char *path) {
  const char *folder = getenv("STOP_BELOW");
  return folder != NULL && path != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

/* Whether the call is to fail; does not return where the process is to end. */
static int stops_call(const char *path, int is_write) {
  if (!is_below(path)) return 0;
  repeated = strcmp(path, last) == 0 ? repeated + 1 : 0;
  snprintf(last, sizeof last, "%s", path);
  if (is_write && repeated > 2) return 0;
  const char *at = getenv("STOP_AT"), *how = getenv("STOP_HOW");
  if (atomic_fetch_add(&calls, 1) + 1 != (at == NULL ? 0 : atoi(at))) return 0;
  if (how != NULL && strcmp(how, "EIO") == 0) {
    errno = EIO;
    return 1;
  }
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static int stops(const char *path) { return stops_call(path, 0); }

static int stops_at(int descriptor, int is_write) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return stops_call(path, is_write);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fsync(int descriptor) { return stops_at(descriptor, 0) ? -1 : NEXT(fsync)(descriptor); }
int fdatasync(int descriptor) { return stops_at(descriptor, 0) ? -1 : NEXT(fdatasync)(descriptor); }
int fchmod(int descriptor, mode_t mode) { return stops_at(descriptor, 0) ? -1 : NEXT(fchmod)(descriptor, mode); }
int chmod(const char *path, mode_t mode) { return stops(path) ? -1 : NEXT(chmod)(path, mode); }
int ftruncate(int descriptor, off_t size) { return stops_at(descriptor, 0) ? -1 : NEXT(ftruncate)(descriptor, size); }
int ftruncate64(int descriptor, off_t size) { return stops_at(descriptor, 0) ? -1 : NEXT(ftruncate64)(descriptor, size); }
int rename(const char *from, const char *to) { return stops(to) ? -1 : NEXT(rename)(from, to); }
int unlink(const char *path) { return stops(path) ? -1 : NEXT(unlink)(path); }
int remove(const char *path) { return stops(path) ? -1 : NEXT(remove)(path); }
ssize_t write(int descriptor, const void *bytes, size_t size) {
  return stops_at(descriptor, 1) ? -1 : NEXT(write)(descriptor, bytes, size);
}
ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t at) {
  return stops_at(descriptor, 1) ? -1 : NEXT(pwrite)(descriptor, bytes, size, at);
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off_t at) {
  return stops_at(descriptor, 1) ? -1 : NEXT(pwrite64)(descriptor, bytes, size, at);
}

static mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

#define OPENS(name)                                                         \
  int name(const char *path, int flags, ...) {                              \
    va_list arguments;                                                      \
    va_start(arguments, flags);                                             \
    mode_t mode = mode_of(flags, arguments);                                \
    va_end(arguments);                                                      \
    return (flags & O_CREAT) != 0 && stops(path) ? -1 : NEXT(name)(path, flags, mode); \
  }
OPENS(open)
OPENS(open64)

__attribute__((destructor)) static void tell(void) {
  const char *file = getenv("STOP_COUNT");
  if (file == NULL) return;
  FILE *told = fopen(file, "w");
  if (told == NULL) return;
  fprintf(told, "%d", atomic_load(&calls));
  fclose(told);
}
