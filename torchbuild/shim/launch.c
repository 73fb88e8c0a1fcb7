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
   compiler cache would keep it. The compiler is a likelier victim of the kernel than we are, or ninja.

   A cache whose server starts the compilers (see torchbuild.shim.sccache) is told by TORCHBUILD_CACHE, the
   program; TORCHBUILD_BEHIND, a folder; TORCHBUILD_CALLS, a log. Then COMPILER is one of two:

     /usr/bin/c++            ninja calls: we note output and source, and become `cache BEHIND/usr/bin/c++ ...`
     BEHIND/usr/bin/c++      a script whose interpreter we are; the server calls it where it has nothing: we ask,
                             and run /usr/bin/c++. What only preprocesses asks nobody.

   The steps of nvcc are started by that server itself, where nobody can stand before them. So for a device
   compiler we ask before the cache is asked, with a seventh word: nothing that is seen of us is its memory. */

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
    "Compiler killed by signal 9",      /* sccache, of a step of nvcc */
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

static int has(char **argv, const char *option)
{
    int at;
    for (at = 2; argv[at]; at++)
        if (strcmp(argv[at], option) == 0)
            return 1;
    return 0;
}

static int compiles(char **argv)
{
    return has(argv, "-c") && !has(argv, "-E") && !has(argv, "-M") && !has(argv, "-MM") &&
           !has(argv, "--dryrun");
}

static int is_device(const char *compiler)
{
    const char *name = strrchr(compiler, '/');
    return strncmp(name ? name + 1 : compiler, "nvcc", 4) == 0;
}

/* Where the log of calls is, a line with folder, output and source: at its end, in one go. */
static void note(char **argv)
{
    const char *path = getenv("TORCHBUILD_CALLS"), *output = "", *source = "", *found;
    char folder[4096], text[MOST];
    int at, file, length;
    if (!path || !getcwd(folder, sizeof folder) || (file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)) < 0)
        return;
    for (at = 1; argv[at]; at++) {
        if ((found = value_of(argv, at, "-o", 0)))
            output = found;
        else if ((found = value_of(argv, at, "-c", 0)))
            source = found;
    }
    length = snprintf(text, sizeof text, "%s\t%s\t%s\n", folder, output, source);
    if (length > 0 && length < (int)sizeof text) {
        ssize_t ignored = write(file, text, (size_t)length);
        (void)ignored;
    }
    close(file);
}

/* Puts the cache before the compiler where there is one for it. -1: the compiler's server calls and it is to
   run at once; 0: nothing changed; 1: the cache stands before it now; 2: the cache calls us, argv is as without. */
static int cached(char **argv, char **longer)
{
    static char stand_in[4096];
    const char *behind = getenv("TORCHBUILD_BEHIND"), *cache = getenv("TORCHBUILD_CACHE");
    size_t length = behind ? strlen(behind) : 0;
    int at;
    if (!length || !cache)
        return 0;
    if (strncmp(argv[1], behind, length) == 0 && argv[1][length] == '/') {
        argv[1] += length;
        return is_device(argv[1]) || !compiles(argv) ? -1 : 2;
    }
    if (snprintf(stand_in, sizeof stand_in, "%s%s", behind, argv[1]) >= (int)sizeof stand_in ||
        access(stand_in, X_OK) != 0 || !compiles(argv))
        return 0;
    note(argv);
    longer[0] = argv[0];
    longer[1] = (char *)cache;
    longer[2] = stand_in;
    for (at = 2; argv[at]; at++)
        longer[at + 1] = argv[at];
    longer[at + 1] = 0;
    return 1;
}

static size_t request(char *text, char **argv, int is_blind)
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
    length = snprintf(text, MOST, "ask\t%d\t%.8s\t%d\t%.4000s\t%s\t%.4000s%s", (int)getpid(),
                      threads, codes, argv[1], folder, output, is_blind ? "\tblind" : "");
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
    int file, errors, status, is_blind = 0, before;
    size_t length;
    char said, *longer[argc + 2];
    if (argc < 2) {
        say("usage: launch COMPILER ARGUMENT...\n");
        return 2;
    }
    before = cached(argv, longer);
    if (before == 1 && !(is_blind = is_device(argv[1])))
        become(longer);
    file = before < 0 ? -1 : reach(getenv("TORCHBUILD_SUPERVISOR"));
    if (file < 0)
        become(is_blind ? longer : argv);
    said = asked(file, text, request(text, argv, is_blind), 1);
    if (is_blind)
        argv = longer;
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
