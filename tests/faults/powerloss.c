/* Keeps what a disk would have of a folder's files after a power cut, for a program that this
   library is loaded into with LD_PRELOAD.

   POWERLOSS_FOLDER names the folder. POWERLOSS_DISK names another that holds
     data/INODE    the content of a file at its last fsync, and
     names/INODE   the entries of a folder at its last fsync: lines "d INODE NAME" or "f INODE NAME".
   A write, a truncation, a rename or a removal reaches them through fsync alone, whichever call made
   it. The fsync of a file keeps the name that it has then, too, as ext4, XFS and Btrfs do; other
   changes of names wait for the fsync of their folder. tests/faults/powerloss.py does the rest. */

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 65536
#define MOST_FILES 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ino_t pinned[MOST_FILES];
static int pinned_count;

static void give_up(const char *what) {
    perror(what);
    abort();
}

/* The number of an inode must not be used again while the disk knows it, so a copy of the descriptor
   stays open. Closing it would also drop the locks that the program has on the file. */
static void pin(int fd, ino_t inode) {
    for (int at = 0; at < pinned_count; at++)
        if (pinned[at] == inode) return;
    if (pinned_count == MOST_FILES || fcntl(fd, F_DUPFD_CLOEXEC, 512) < 0) give_up("powerloss: pin");
    pinned[pinned_count++] = inode;
}

static void place_of(char *path, const char *kind, ino_t inode) {
    snprintf(path, PATH_MAX, "%s/%s/%llu", getenv("POWERLOSS_DISK"), kind, (unsigned long long)inode);
}

static void keep_content(int fd, const struct stat *file) {
    static char now[BLOCK], before[BLOCK];
    char path[PATH_MAX], own[64];
    place_of(path, "data", file->st_ino);
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    int kept = open(path, O_RDWR | O_CREAT, 0600);
    /* A descriptor that can only write is opened once more, and stays open for the locks' sake. */
    int from = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY ? open(own, O_RDONLY) : fd;
    if (kept < 0 || from < 0) give_up("powerloss: open");
    for (off_t at = 0; at < file->st_size; at += BLOCK) {
        ssize_t count = pread(from, now, BLOCK, at);
        if (count <= 0) break;
        if (pread(kept, before, count, at) == count && !memcmp(now, before, count)) continue;
        if (pwrite(kept, now, count, at) != count) give_up("powerloss: write");
    }
    if (ftruncate(kept, file->st_size)) give_up("powerloss: truncate");
    close(kept);
}

static void write_entry(FILE *names, const struct stat *entry, const char *name) {
    fprintf(names, "%c %llu %s\n", S_ISDIR(entry->st_mode) ? 'd' : 'f',
            (unsigned long long)entry->st_ino, name);
}

static void keep_names(const char *folder, ino_t inode) {
    char path[PATH_MAX], part[PATH_MAX + 8];
    struct stat entry;
    place_of(path, "names", inode);
    snprintf(part, sizeof part, "%s.part", path);
    DIR *entries = opendir(folder);
    FILE *names = fopen(part, "w");
    if (!entries || !names) give_up("powerloss: names");
    for (struct dirent *one; (one = readdir(entries));)
        if (strcmp(one->d_name, ".") && strcmp(one->d_name, "..") &&
            !fstatat(dirfd(entries), one->d_name, &entry, AT_SYMLINK_NOFOLLOW))
            write_entry(names, &entry, one->d_name);
    closedir(entries);
    fclose(names);
    if (rename(part, path)) give_up("powerloss: rename");
}

/* Keep the name of a file, and those of the folders above it. */
static void keep_name(char *path, const char *top) {
    char *slash = strrchr(path, '/'), place[PATH_MAX], part[PATH_MAX + 8], line[PATH_MAX];
    struct stat entry, above;
    if (strlen(path) <= strlen(top) || stat(path, &entry)) return;
    *slash = 0;
    if (!stat(path, &above)) {
        place_of(place, "names", above.st_ino);
        snprintf(part, sizeof part, "%s.part", place);
        FILE *before = fopen(place, "r"), *names = fopen(part, "w");
        if (!names) give_up("powerloss: names");
        while (before && fgets(line, sizeof line, before)) {
            char *name = strchr(line + 2, ' ') + 1;
            size_t length = strlen(slash + 1);
            if (strncmp(name, slash + 1, length) || name[length] != '\n') fputs(line, names);
        }
        write_entry(names, &entry, slash + 1);
        if (before) fclose(before);
        fclose(names);
        if (rename(part, place)) give_up("powerloss: rename");
    }
    keep_name(path, top);
}

static int keep(int fd) {
    char path[PATH_MAX], own[64];
    const char *top = getenv("POWERLOSS_FOLDER");
    struct stat file;
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(own, path, sizeof path - 1);
    if (!top || length < 0 || fstat(fd, &file)) return 0;
    path[length] = 0;
    if (strncmp(path, top, strlen(top))) return 0;
    pthread_mutex_lock(&lock);
    pin(fd, file.st_ino);
    if (S_ISDIR(file.st_mode)) {
        keep_names(path, file.st_ino);
    } else {
        keep_content(fd, &file);
        keep_name(path, top);
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

int fsync(int fd) { return keep(fd); }

int fdatasync(int fd) { return keep(fd); }
