/* ior's and mdtest's own calls, without MPI: what `against_reference.py` holds hostdx's corners against.
 *
 * ior 4.0 (aiori-POSIX.c, ior.c) and mdtest (mdtest.c) in io500's configuration: processes that start at a barrier,
 * pread/pwrite of whole transfers, fsync in the time (-e), open and close in it; names are absolute paths made in the
 * loop; files are created O_CREAT|O_RDWR, written, closed; stat(2), open-read-close, unlink; the rate is everybody's
 * operations over the time of the slowest. Prints of each corner this rate and the CPU seconds of an operation.
 *
 * reference DIR WORKERS DIRECT easy_records hard_records easy_names hard_names easy_stats hard_stats
 * The last two: how often stat passes over all names. DIRECT 1: ior-easy with O_DIRECT (--posix.odirect).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EASY = 2 << 20, HARD = 47008, SMALL = 3901, MOST = 64 };
static struct shared { pthread_barrier_t start; double took[MOST], cpu[MOST]; long n[MOST]; } *all;
static const char *top;
static int workers, rank;
static char *buffer;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static double used(void) {
    struct rusage self;
    getrusage(RUSAGE_SELF, &self);
    return self.ru_utime.tv_sec + self.ru_stime.tv_sec + (self.ru_utime.tv_usec + self.ru_stime.tv_usec) / 1e6;
}

static int opened(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0) err(1, "%s", path);
    return fd;
}

static void must(long got, long wanted) {
    if (got != wanted) err(1, "%ld of %ld", got, wanted);
}

static void moved(int hard, int writes, int direct, long records) {
    char path[4096];
    int of = writes ? rank : (rank + 1) % workers; /* -C */
    long size = hard ? HARD : EASY, stride = hard ? (long)HARD * workers : EASY;
    snprintf(path, sizeof path, hard ? "%s/shared" : "%s/own.%d", top, of);
    int fd = opened(path, (writes ? O_CREAT | O_RDWR : O_RDONLY) | (direct && !hard ? O_DIRECT : 0));
    for (long i = 0; i < records; i++) {
        off_t at = i * stride + (hard ? (long)of * HARD : 0);
        must(writes ? pwrite(fd, buffer, size, at) : pread(fd, buffer, size, at), size);
    }
    if (writes && fsync(fd)) err(1, "fsync");
    close(fd);
}

static void named(char *path, int hard, long number) {
    if (hard) snprintf(path, 4096, "%s/hard/file.mdtest.%d.%ld", top, rank, number);
    else snprintf(path, 4096, "%s/easy.%d/file.mdtest.%d.%ld", top, rank, rank, number);
}

static long names(const char *what, int hard, long count, long passes) {
    char path[4096];
    struct stat seen;
    for (long pass = 0; pass < passes; pass++)
        for (long i = 0; i < count; i++) {
            named(path, hard, i);
            if (*what == 'c' || *what == 'o') {
                int fd = opened(path, *what == 'c' ? O_CREAT | O_RDWR : O_RDONLY);
                if (hard) must(*what == 'c' ? write(fd, buffer, SMALL) : read(fd, buffer, SMALL), SMALL);
                close(fd);
            } else if (*what == 's') {
                if (stat(path, &seen)) err(1, "stat");
            } else if (unlink(path)) err(1, "unlink");
        }
    return count * passes;
}

static long found(void) {
    char path[4096];
    long seen = 0, hits = 0;
    for (int i = 0; i <= workers; i++) {
        if (i < workers) snprintf(path, sizeof path, "%s/easy.%d", top, i);
        else snprintf(path, sizeof path, "%s/hard", top);
        DIR *dir = opendir(path);
        if (!dir) err(1, "opendir");
        for (struct dirent *one; (one = readdir(dir));) {
            struct stat state;
            seen++;
            if (fnmatch("*01*", one->d_name, 0) == 0 && !fstatat(dirfd(dir), one->d_name, &state, AT_SYMLINK_NOFOLLOW))
                hits += state.st_size == SMALL;
        }
        closedir(dir);
    }
    return seen + 0 * hits;
}

static void dropped(int hard) {
    char path[4096];
    sync();
    for (int i = 0; i < (hard ? 1 : workers); i++) {
        snprintf(path, sizeof path, hard ? "%s/shared" : "%s/own.%d", top, i);
        int fd = opened(path, O_RDONLY);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
}

static void dropped_names(long count) {
    char path[4096];
    sync();
    for (rank = 0; rank < workers; rank++)
        for (long i = 0; i < count; i++) {
            named(path, 1, i);
            int fd = opened(path, O_RDONLY);
            posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
            close(fd);
        }
}

#define PHASE(id, bytes, only, work) do { \
    for (rank = 0; rank < workers; rank++) if (!fork()) { \
        setsid(); /* as ours and fio's: with sched_autogroup each has a share of its own */ \
        pthread_barrier_wait(&all->start); \
        double began = now(), before = used(); \
        all->n[rank] = (only) ? (work) : 0; \
        all->took[rank] = (only) ? now() - began : 0; \
        all->cpu[rank] = (only) ? used() - before : 0; \
        _exit(0); } \
    double slowest = 0, sum = 0, cpu = 0; int status; \
    for (int i = 0; i < workers; i++) { wait(&status); if (status) exit(1); } \
    for (int i = 0; i < workers; i++) { \
        slowest = all->took[i] > slowest ? all->took[i] : slowest; sum += all->n[i]; cpu += all->cpu[i]; } \
    printf("%s %.6g %.6g\n", id, sum * (bytes) / slowest, cpu / sum); fflush(stdout); \
} while (0)

int main(int count, char **given) {
    if (count != 10) errx(2, "see the head of reference.c");
    top = given[1], workers = atoi(given[2]);
    int direct = atoi(given[3]);
    long easy = atol(given[4]), hard = atol(given[5]), own = atol(given[6]), common = atol(given[7]);
    long asked[2] = {atol(given[8]), atol(given[9])};
    char path[4096];
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t across;
    pthread_barrierattr_init(&across);
    pthread_barrierattr_setpshared(&across, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&all->start, &across, workers);
    if (posix_memalign((void **)&buffer, 4096, EASY)) err(1, "memory");
    FILE *random = fopen("/dev/urandom", "r");
    if (!random) err(1, "random");
    must(fread(buffer, 1, EASY, random), EASY);
    for (int i = 0; i <= workers; i++) {
        if (i < workers) snprintf(path, sizeof path, "%s/easy.%d", top, i);
        else snprintf(path, sizeof path, "%s/hard", top);
        if (mkdir(path, 0700)) err(1, "%s", path);
    }
    PHASE("ior-easy-write", EASY, 1, (moved(0, 1, direct, easy), easy));
    PHASE("ior-hard-write", HARD, 1, (moved(1, 1, 0, hard), hard));
    dropped(0);
    PHASE("ior-easy-read", EASY, 1, (moved(0, 0, direct, easy), easy));
    dropped(1);
    PHASE("ior-hard-read", HARD, 1, (moved(1, 0, 0, hard), hard));
    PHASE("mdtest-easy-write", 1, 1, names("create", 0, own, 1));
    PHASE("mdtest-hard-write", 1, 1, names("create", 1, common, 1));
    PHASE("find", 1, rank == 0, found());
    PHASE("mdtest-easy-stat", 1, 1, names("stat", 0, own, asked[0]));
    PHASE("mdtest-hard-stat", 1, 1, names("stat", 1, common, asked[1]));
    dropped_names(common);
    PHASE("mdtest-hard-read", 1, 1, names("open", 1, common, 1));
    PHASE("mdtest-easy-delete", 1, 1, names("delete", 0, own, 1));
    PHASE("mdtest-hard-delete", 1, 1, names("delete", 1, common, 1));
    return 0;
}
