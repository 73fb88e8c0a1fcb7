/* Runs one compiler when the supervisor says so.

   launch COMPILER ARGUMENT...

   TORCHBUILD_SUPERVISOR names the supervisor's socket. Without it, or where nobody listens, the compiler takes
   our place at once: CMake's own checks and a person's shell see no difference. With it a line goes there and
   one letter comes back:

     we say                                              it says
     ask <tab> process <tab> threads <tab> codes
         <tab> program <tab> folder <tab> output        r: run
     killed <tab> kilobytes                              r: run it again; f: it stays failed
     end <tab> kilobytes <tab> exit code                 nothing

   What the compiler says is held back until it has ended: of a run that was killed nothing may be left, or a
   compiler cache would keep it. The compiler is a likelier victim of the kernel than we are, or ninja. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 16384

static const char *const KILLED[] = {
    "Killed signal terminated program", /* gcc, of the compiler proper */
    "internal compiler error: Killed",  /* gcc before 9 */
    "command: Killed",                  /* clang */
    "died due to signal 9",             /* nvcc */
    "virtual memory exhausted",         /* cc1plus under a limit */
    "cc1plus: out of memory allocating",
    "cc1: out of memory allocating",
    0,
};
static volatile sig_atomic_t child;

static void pass_on(int number)
{
    if (child > 0)
        kill((pid_t)child, number);
}

static void say(const char *text)
{
    ssize_t ignored = write(2, text, strlen(text));
    (void)ignored;
}

static int reach(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int file;
    if (!path || !*path || strlen(path) >= sizeof address.sun_path)
        return -1;
    strcpy(address.sun_path, path);
    file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0)
        return -1;
    while (connect(file, (struct sockaddr *)&address, sizeof address) != 0)
        if (errno != EINTR) {
            close(file);
            return -1;
        }
    return file;
}

/* One request; the letter that answers it, or 0 where nobody does any more. */
static char asked(int file, const char *text, size_t length, int waits)
{
    char letter = 0;
    ssize_t got;
    if (send(file, text, length, MSG_NOSIGNAL) != (ssize_t)length || !waits)
        return 0;
    do
        got = read(file, &letter, 1);
    while (got < 0 && errno == EINTR);
    return got == 1 ? letter : 0;
}

/* A value that stands beside its option or is attached to it. */
static const char *value_of(char **argv, int at, const char *option, int attached)
{
    size_t length = strlen(option);
    if (strncmp(argv[at], option, length) != 0)
        return 0;
    if (argv[at][length] == 0)
        return argv[at + 1];
    if (argv[at][length] == '=')
        return argv[at] + length + 1;
    return attached ? argv[at] + length : 0;
}

static size_t request(char *text, char **argv)
{
    const char *output = "", *threads = "1", *found;
    char folder[4096];
    int at, codes = 0, length;
    size_t mark;
    for (at = 1; argv[at]; at++) {
        if ((found = value_of(argv, at, "-o", 0)))
            output = found;
        else if ((found = value_of(argv, at, "--threads", 0)) || (found = value_of(argv, at, "-t", 0)))
            threads = found;
        else if (strncmp(argv[at], "-gencode", 8) == 0 || strncmp(argv[at], "--generate-code", 15) == 0)
            codes++;
    }
    if (!getcwd(folder, sizeof folder))
        folder[0] = 0;
    length = snprintf(text, MOST, "ask\t%d\t%.8s\t%d\t%.4000s\t%s\t%.4000s", (int)getpid(),
                      threads, codes, argv[1], folder, output);
    if (length < 0 || length > MOST - 2)
        length = snprintf(text, MOST, "ask\t%d\t1\t0\t\t\t", (int)getpid());
    for (mark = 0; text[mark]; mark++)
        if (text[mark] == '\n')
            text[mark] = '?';
    text[length] = '\n';
    return (size_t)length + 1;
}

static int aside(void)
{
    char name[] = "/tmp/launch-XXXXXX";
    int file = -1;
#ifdef SYS_memfd_create
    file = (int)syscall(SYS_memfd_create, "stderr", 1u /* close-on-exec */);
#endif
    if (file < 0 && (file = mkostemp(name, O_CLOEXEC)) >= 0)
        unlink(name);
    return file;
}

static void become(char **argv)
{
    execvp(argv[1], argv + 1);
    say("torchbuild: cannot start ");
    say(argv[1]);
    say("\n");
    _exit(errno == ENOENT ? 127 : 126);
}

static int run(char **argv, int errors, struct rusage *usage)
{
    pid_t mine = getpid(), made = fork();
    int status, file;
    if (made == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != mine)
            _exit(1);
        if ((file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)) >= 0) {
            ssize_t ignored = write(file, "500", 3);
            (void)ignored;
            close(file);
        }
        if (errors >= 0)
            dup2(errors, 2);
        become(argv);
    }
    if (made < 0)
        return 256;
    child = made;
    while (wait4(made, &status, 0, usage) < 0)
        if (errno != EINTR)
            return 256;
    child = 0;
    return status;
}

/* Whether somebody killed it: the driver, or what the driver started. */
static int was_killed(int status, int errors)
{
    static char text[65536];
    off_t size, from;
    ssize_t got;
    int at;
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGKILL;
    if (WEXITSTATUS(status) == 0 || errors < 0)
        return 0;
    if (WEXITSTATUS(status) == 137)
        return 1;
    size = lseek(errors, 0, SEEK_END);
    from = size > (off_t)sizeof text - 1 ? size - ((off_t)sizeof text - 1) : 0;
    got = pread(errors, text, sizeof text - 1, from);
    text[got < 0 ? 0 : got] = 0;
    for (at = 0; KILLED[at]; at++)
        if (memmem(text, got < 0 ? 0 : (size_t)got, KILLED[at], strlen(KILLED[at])))
            return 1;
    return 0;
}

static void tell(int errors)
{
    char text[65536];
    ssize_t got;
    off_t at = 0;
    while (errors >= 0 && (got = pread(errors, text, sizeof text, at)) > 0) {
        ssize_t done = 0, put;
        while (done < got && ((put = write(2, text + done, (size_t)(got - done))) > 0 || errno == EINTR))
            done += put > 0 ? put : 0;
        if (done < got)
            return;
        at += got;
    }
}

static int leave(int status)
{
    if (WIFSIGNALED(status)) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    static char text[MOST];
    struct sigaction forward = {.sa_handler = pass_on};
    struct rusage usage;
    int file, errors, status;
    size_t length;
    char said;
    if (argc < 2) {
        say("usage: launch COMPILER ARGUMENT...\n");
        return 2;
    }
    file = reach(getenv("TORCHBUILD_SUPERVISOR"));
    if (file < 0)
        become(argv);
    said = asked(file, text, request(text, argv), 1);
    if (said != 'r') {
        say("torchbuild: the supervisor of this build is gone; nothing more is started\n");
        return 1;
    }
    errors = aside();
    sigaction(SIGINT, &forward, 0);
    sigaction(SIGTERM, &forward, 0);
    sigaction(SIGHUP, &forward, 0);
    for (;;) {
        memset(&usage, 0, sizeof usage);
        status = run(argv, errors, &usage);
        if (!was_killed(status, errors))
            break;
        length = (size_t)snprintf(text, sizeof text, "killed\t%ld\n", usage.ru_maxrss);
        if (asked(file, text, length, 1) != 'r')
            break;
        if (errors >= 0 && (ftruncate(errors, 0) != 0 || lseek(errors, 0, SEEK_SET) != 0))
            break;
    }
    tell(errors);
    length = (size_t)snprintf(text, sizeof text, "end\t%ld\t%d\n", usage.ru_maxrss,
                              WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    asked(file, text, length, 0);
    return leave(status);
}
