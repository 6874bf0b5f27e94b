/* Times MPI_Allreduce of f32, as crates/device/examples/host_all_reduce.rs times the host backend's all-reduce: back to back, the
 * mean of a batch, the slowest rank's, apart and not in place. Rank r is pinned to CPU r. Prints "BYTES MICROSECONDS" for each batch.
 *
 * mpi_allreduce BATCHES BYTES... ; it ends with 1 where a sum is wrong. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* So many calls are a batch; the same formula stands in the other program. */
static long calls_of(long bytes) {
    long calls = (1L << 25) / (bytes + 8192);
    return calls < 4 ? 4 : calls;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(rank, &own);
    if (sched_setaffinity(0, sizeof own, &own) != 0) {
        perror("pinning a rank to its CPU");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long batches = argc > 1 ? atol(argv[1]) : 0;
    for (int i = 2; i < argc; i++) {
        long bytes = atol(argv[i]), elements = bytes / (long)sizeof(float), calls = calls_of(bytes);
        float *from = malloc(bytes), *to = malloc(bytes);
        for (long k = 0; k < elements; k++) {
            from[k] = (float)(k % 31 + rank);
            to[k] = -1.0f;
        }
        /* The first batch does not count. */
        for (long batch = 0; batch <= batches; batch++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double began = MPI_Wtime();
            for (long call = 0; call < calls; call++) {
                MPI_Allreduce(from, to, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            }
            double mean = (MPI_Wtime() - began) / calls * 1e6, slowest;
            MPI_Reduce(&mean, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
            if (rank == 0 && batch > 0) {
                printf("%ld %.4f\n", bytes, slowest);
            }
        }
        for (long k = 0; k < elements; k++) {
            if (to[k] != (float)(ranks * (k % 31) + ranks * (ranks - 1) / 2)) {
                fprintf(stderr, "element %ld of %ld bytes is %f\n", k, bytes, to[k]);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
        free(from);
        free(to);
    }
    MPI_Finalize();
    return 0;
}
