// allreduce [STATUS]: a program for tests of `tessera submit mpi`. All ranks add up their numbers with
// MPI_Allreduce, and each prints the result with the memory that its GPU shows. Rank 1 then exits with
// STATUS, if it is there.
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// The memory of GPU 0 in MiB; -1 without a GPU.
static long gpu_mib(void) {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL) return -1;
    int (*init)(unsigned);
    int (*total)(size_t*, int);
    *(void**)&init = dlsym(driver, "cuInit");
    *(void**)&total = dlsym(driver, "cuDeviceTotalMem_v2");
    size_t bytes = 0;
    if (init == NULL || total == NULL || init(0) != 0 || total(&bytes, 0) != 0) return -1;
    return (long)(bytes >> 20);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const long mine = 10 + rank;
    long sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    printf("rank %d of %d on %s: sum %ld, GPU of %ld MiB\n", rank, size, host, sum, gpu_mib());
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1 && rank == 1) exit(atoi(argv[1]));
    MPI_Finalize();
    return 0;
}
