/*
 * Preloaded into the service: while the file that FAIL_SYNC names is there, syncing a write-ahead log that holds the
 * text FAIL_SYNC_OF fails with EIO, and each failure adds a byte to that file; with FAIL_SYNC_ONCE it removes it instead.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int holds(const char *path, const char *text) {
  int descriptor = open(path, O_RDONLY);
  if (descriptor < 0) return 0;
  struct stat status;
  void *log = MAP_FAILED;
  if (fstat(descriptor, &status) == 0) log = mmap(NULL, status.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (log == MAP_FAILED) return 0;
  int found = memmem(log, status.st_size, text, strlen(text)) != NULL;
  munmap(log, status.st_size);
  return found;
}

static int fails(int descriptor) {
  const char *flag = getenv("FAIL_SYNC"), *text = getenv("FAIL_SYNC_OF");
  if (flag == NULL || text == NULL || access(flag, F_OK) != 0) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 4 || memcmp(path + length - 4, "-wal", 4) != 0) return 0;
  path[length] = 0;
  if (!holds(path, text)) return 0;
  int counter = open(flag, O_WRONLY | O_APPEND);
  if (counter >= 0) {
    if (write(counter, "1", 1) != 1) perror("FAIL_SYNC");
    close(counter);
  }
  if (getenv("FAIL_SYNC_ONCE") != NULL) unlink(flag);
  return 1;
}

static int sync_by(const char *name, int descriptor) {
  if (fails(descriptor)) {
    errno = EIO;
    return -1;
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, name))(descriptor);
}

int fsync(int descriptor) { return sync_by("fsync", descriptor); }
int fdatasync(int descriptor) { return sync_by("fdatasync", descriptor); }
