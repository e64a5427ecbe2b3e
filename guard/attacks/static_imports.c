/* The functions of libc that the simulated driver needs, for a static program with a loader. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "guard/attacks/static_imports.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void __cxa_finalize(void*);
extern int __isoc99_sscanf(const char*, const char*, ...);
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void*);

#define IMPORT(name) {#name, (uintptr_t)&name}

static const struct {
    const char* name;
    uintptr_t address;
} kImports[] = {
    IMPORT(__cxa_finalize), IMPORT(__errno_location), IMPORT(__isoc99_sscanf),
    IMPORT(__register_atfork), IMPORT(access), IMPORT(bind), IMPORT(calloc), IMPORT(chmod),
    IMPORT(close), IMPORT(connect), IMPORT(dl_iterate_phdr), IMPORT(fallocate), IMPORT(fclose),
    IMPORT(fcntl), IMPORT(fopen), IMPORT(fread), IMPORT(free), IMPORT(ftruncate), IMPORT(getenv),
    IMPORT(getpid), IMPORT(isspace), IMPORT(listen), IMPORT(lseek), IMPORT(memchr), IMPORT(memcmp),
    IMPORT(memcpy), IMPORT(memfd_create), IMPORT(memmove), IMPORT(memset), IMPORT(mmap),
    IMPORT(mprotect), IMPORT(msync), IMPORT(munmap), IMPORT(open), IMPORT(prctl),
    IMPORT(pthread_create), IMPORT(pthread_mutex_lock), IMPORT(pthread_mutex_unlock),
    IMPORT(pwrite), IMPORT(read), IMPORT(realloc), IMPORT(realpath), IMPORT(recv), IMPORT(send),
    IMPORT(sigfillset), IMPORT(sigprocmask), IMPORT(snprintf), IMPORT(socket), IMPORT(statfs),
    IMPORT(statx),
    IMPORT(strchr), IMPORT(strcmp), IMPORT(strlen), IMPORT(strncasecmp), IMPORT(strncmp),
    IMPORT(strrchr), IMPORT(strtod), IMPORT(strtol), IMPORT(strtoul), IMPORT(strtoull),
    IMPORT(syscall), IMPORT(tdelete), IMPORT(tfind), IMPORT(tsearch),
};

void* static_import(const char* name) {
    for (size_t i = 0; i < sizeof kImports / sizeof kImports[0]; i++)
        if (strcmp(kImports[i].name, name) == 0) return (void*)kImports[i].address;
    return NULL;
}
