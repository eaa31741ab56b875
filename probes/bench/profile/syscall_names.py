"""Names of the system calls that may wait long, by their numbers (asm/unistd_64.h, asm-generic/unistd.h of Linux 6.1,
and the later futex calls). Another one is named by its number.
"""

import platform

_X86_64 = """
0 read 1 write 2 open 3 close 4 stat 5 fstat 6 lstat 7 poll 9 mmap 10 mprotect 11 munmap 12 brk 16
ioctl 17 pread64 18 pwrite64 19 readv 20 writev 23 select 26 msync 28 madvise 34 pause 35 nanosleep
40 sendfile 42 connect 43 accept 44 sendto 45 recvfrom 46 sendmsg 47 recvmsg 56 clone 57 fork 58
vfork 59 execve 61 wait4 65 semop 69 msgsnd 70 msgrcv 72 fcntl 73 flock 74 fsync 75 fdatasync 76
truncate 77 ftruncate 78 getdents 82 rename 83 mkdir 84 rmdir 85 creat 86 link 87 unlink 88 symlink
89 readlink 90 chmod 92 chown 128 rt_sigtimedwait 130 rt_sigsuspend 137 statfs 138 fstatfs 162 sync
165 mount 166 umount2 187 readahead 188 setxattr 202 futex 208 io_getevents 209 io_submit 217
getdents64 219 restart_syscall 220 semtimedop 221 fadvise64 230 clock_nanosleep 231 exit_group 232
epoll_wait 247 waitid 257 openat 258 mkdirat 260 fchownat 262 newfstatat 263 unlinkat 264 renameat
265 linkat 266 symlinkat 267 readlinkat 268 fchmodat 269 faccessat 270 pselect6 271 ppoll 275 splice
277 sync_file_range 280 utimensat 281 epoll_pwait 285 fallocate 288 accept4 295 preadv 296 pwritev
306 syncfs 316 renameat2 322 execveat 326 copy_file_range 327 preadv2 328 pwritev2 332 statx 426
io_uring_enter 435 clone3 437 openat2 439 faccessat2 440 process_madvise 441 epoll_pwait2 449
futex_waitv 455 futex_wait
"""
_GENERIC = """
2 io_submit 4 io_getevents 5 setxattr 22 epoll_pwait 25 fcntl 29 ioctl 32 flock 34 mkdirat 35
unlinkat 36 symlinkat 37 linkat 38 renameat 39 umount2 40 mount 43 statfs 44 fstatfs 45 truncate 46
ftruncate 47 fallocate 48 faccessat 53 fchmodat 54 fchownat 56 openat 57 close 61 getdents64 63 read
64 write 65 readv 66 writev 67 pread64 68 pwrite64 69 preadv 70 pwritev 71 sendfile 72 pselect6 73
ppoll 76 splice 78 readlinkat 79 newfstatat 81 sync 82 fsync 83 fdatasync 84 sync_file_range 88
utimensat 94 exit_group 95 waitid 98 futex 101 nanosleep 115 clock_nanosleep 128 restart_syscall 133
rt_sigsuspend 137 rt_sigtimedwait 188 msgrcv 189 msgsnd 192 semtimedop 193 semop 202 accept 203
connect 206 sendto 207 recvfrom 211 sendmsg 212 recvmsg 213 readahead 214 brk 215 munmap 220 clone
221 execve 222 mmap 223 fadvise64 226 mprotect 227 msync 233 madvise 242 accept4 260 wait4 267
syncfs 276 renameat2 281 execveat 285 copy_file_range 286 preadv2 287 pwritev2 291 statx 426
io_uring_enter 435 clone3 437 openat2 439 faccessat2 440 process_madvise 441 epoll_pwait2 449
futex_waitv 455 futex_wait
"""
_TABLES = {"x86_64": _X86_64, "aarch64": _GENERIC, "riscv64": _GENERIC, "loongarch64": _GENERIC}


def names(machine: str = "") -> dict[int, str]:
    """Of this machine's kind, or of another one; empty where its numbers are not known here."""
    words = _TABLES.get(machine or platform.machine(), "").split()
    return {int(number): name for number, name in zip(words[::2], words[1::2], strict=True)}


def call_name(number: int, known: dict[int, str]) -> str:
    """`unlink`; `no call` for a page fault or another wait outside of a call; empty where none was told."""
    if number < 0:
        return "no call" if number == -1 else ""
    return known.get(number, f"call {number}")
