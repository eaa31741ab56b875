/* A job that spends its time where it is told: build with `cc -O1 -pthread`. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static double system_s(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_stime.tv_sec + used.ru_stime.tv_usec / 1e6;
}

static volatile unsigned long sink;
static double inside; /* seconds in the call that a job is about, by its own clock */
static unsigned long here, *done = &here; /* work done, in a file that others map where DONE names one */

static void step(void) { __atomic_fetch_add(done, 1, __ATOMIC_RELAXED); }

static void loops(long count) {
    volatile unsigned long own = 0;
    while (count--) {
        own += count;
        if (!(count & 0xffff)) step();
    }
}

static void doze(double length) {
    struct timespec left = {(time_t)length, (long)((length - (time_t)length) * 1e9)};
    inside -= seconds(CLOCK_MONOTONIC);
    while (nanosleep(&left, &left)) {}
    inside += seconds(CLOCK_MONOTONIC);
}

static void directory(const char *place, int one, int writers, long files) {
    for (int w = 0; w < writers; w++)
        if (fork() == 0) {
            char path[600];
            for (long n = 0; n < files; n++) {
                snprintf(path, sizeof path, "%s/directory%d/%d-%ld", place, one ? 0 : w, getpid(), n);
                int file = open(path, O_CREAT | O_WRONLY, 0600);
                if (file < 0) exit(3);
                close(file);
                step();
            }
            _exit(0);
        }
    for (int status; wait(&status) > 0;) if (status) exit(3);
}

static struct { pthread_mutex_t mutex; char apart[128]; } locks[2] = {{PTHREAD_MUTEX_INITIALIZER}, {PTHREAD_MUTEX_INITIALIZER}};
static int shared;
static long sections;

static void *worker(void *number) {
    pthread_mutex_t *lock = &locks[shared ? 0 : (long)number].mutex;
    for (long n = 0; n < sections; n++) {
        pthread_mutex_lock(lock);
        loops(2000000);
        pthread_mutex_unlock(lock);
    }
    return 0;
}

static void mutex(int one, long count) {
    pthread_t threads[2];
    shared = one, sections = count;
    for (long n = 0; n < 2; n++) pthread_create(&threads[n], 0, worker, (void *)n);
    for (int n = 0; n < 2; n++) pthread_join(threads[n], 0);
}

/* The same number of reads, in a random order, of a small or of a large array. */
static void memory(long kib, long reads) {
    size_t cells = (size_t)kib * 128, at = 0;
    unsigned long *cell = aligned_alloc(2 << 20, (cells * 8 + (2 << 20) - 1) & -(size_t)(2 << 20));
    madvise(cell, cells * 8, MADV_HUGEPAGE);
    for (size_t n = 0; n < cells; n++) cell[n] = n;
    for (long n = 0; n < reads; n++) {
        at = (at * 6364136223846793005UL + 1442695040888963407UL);
        sink += cell[(at >> 20) % cells];
    }
}

static void faults(int fresh, long rounds) {
    size_t bytes = 4 << 20;
    char *room = 0;
    for (long n = 0; n < rounds; n++) {
        if (!room) room = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(room, bytes, MADV_NOHUGEPAGE);
        for (size_t at = 0; at < bytes; at += 4096) room[at] = 1;
        if (fresh) munmap(room, bytes), room = 0;
    }
}

static void synced(const char *path, int sync, long count) {
    char block[4096];
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    memset(block, 1, sizeof block);
    for (long n = 0; n < count; n++) {
        pwrite(file, block, sizeof block, n * 4096);
        inside -= seconds(CLOCK_MONOTONIC);
        if (sync) fsync(file);
        inside += seconds(CLOCK_MONOTONIC);
        loops(20000);
        step();
    }
    unlink(path);
}

/* One byte to and fro, on one CPU: two context switches a round. */
static void pipes(long count) {
    int to[2], fro[2];
    char byte = 0;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
    if (pipe(to) || pipe(fro)) exit(3);
    if (fork() == 0) {
        close(to[1]), close(fro[0]);
        while (read(to[0], &byte, 1) == 1 && write(fro[1], &byte, 1) == 1) {}
        _exit(0);
    }
    for (long n = 0; n < count; n++) {
        if (write(to[1], &byte, 1) != 1 || read(fro[0], &byte, 1) != 1) exit(3);
        step();
    }
}

static void syscalls(long count) {
    while (count--) {
        sink += getppid();
        if (!(count & 0xff)) step();
    }
}

static void files(const char *place, long count) {
    static char data[4096] __attribute__((aligned(4096)));
    char path[600];
    for (long n = 0; n < count; n++) {
        snprintf(path, sizeof path, "%s/file", place);
        int file = open(path, O_RDONLY | O_DIRECT);
        if (file < 0) file = open(path, O_RDONLY);
        inside -= seconds(CLOCK_MONOTONIC);
        if (read(file, data, sizeof data) < 0) exit(3);
        inside += seconds(CLOCK_MONOTONIC);
        close(file);
        loops(1000000);
    }
}

/* Seconds in each state, of its own clocks; what was reached is printed. */
static void states(double user, double system, double asleep) {
    double began = seconds(CLOCK_MONOTONIC), slept;
    while (system_s() < system) for (int n = 0; n < 50; n++) sink += getppid() + open("/", O_WRONLY);
    slept = seconds(CLOCK_MONOTONIC);
    doze(asleep);
    slept = seconds(CLOCK_MONOTONIC) - slept;
    while (seconds(CLOCK_PROCESS_CPUTIME_ID) < user + system) loops(1000000);
    printf("wall %.6f asleep %.6f\n", seconds(CLOCK_MONOTONIC) - began, slept);
}

int main(int argc, char **argv) {
    char *what = argv[1];
    struct sched_param low = {1};
    if (argc < 3) return 2;
    if (getenv("DONE"))
        done = mmap(0, sizeof here, PROT_READ | PROT_WRITE, MAP_SHARED, open(getenv("DONE"), O_RDWR), 0);
    double began = seconds(CLOCK_MONOTONIC);
    /* below who measures it, above all others */
    if (sched_getscheduler(0) == SCHED_RR) sched_setscheduler(0, SCHED_RR, &low);
    if (!strcmp(what, "directory")) directory(argv[2], atoi(argv[3]), atoi(argv[4]), atol(argv[5]));
    else if (!strcmp(what, "mutex")) mutex(atoi(argv[2]), atol(argv[3]));
    else if (!strcmp(what, "memory")) memory(atol(argv[2]), atol(argv[3]));
    else if (!strcmp(what, "faults")) faults(atoi(argv[2]), atol(argv[3]));
    else if (!strcmp(what, "synced")) synced(argv[2], atoi(argv[3]), atol(argv[4]));
    else if (!strcmp(what, "loops")) loops(atol(argv[2]));
    else if (!strcmp(what, "asleep")) loops(atol(argv[2])), doze(atof(argv[3]));
    else if (!strcmp(what, "pipes")) pipes(atol(argv[2]));
    else if (!strcmp(what, "syscalls")) syscalls(atol(argv[2]));
    else if (!strcmp(what, "files")) files(argv[2], atol(argv[3]));
    else if (!strcmp(what, "states")) states(atof(argv[2]), atof(argv[3]), atof(argv[4]));
    else return 2;
    printf("inside %.6f whole %.6f\n", inside, seconds(CLOCK_MONOTONIC) - began);
    return 0;
}
