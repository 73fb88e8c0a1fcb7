/* Runs one compiler when the supervisor says so.

   launch COMPILER ARGUMENT...

   TORCHBUILD_SUPERVISOR names the supervisor's socket. Without it, or where nobody listens, the compiler takes
   our place at once: CMake's own checks and a person's shell see no difference. With it a line goes there and
   one letter comes back:

     we say                                              it says
     ask <tab> process <tab> threads <tab> codes
         <tab> program <tab> folder <tab> output
         <tab> why it must be compiled here              r: run; dNAME=VALUE <newline>: send it away
     back <tab> exit code <tab> what was said            r or d, as before: it was sent away and not compiled
     killed <tab> kilobytes                              r: run it again; f: it stays failed
     end <tab> kilobytes <tab> exit code                 nothing; k where it was sent away

   What the compiler says is held back until it has ended: of a run that was killed nothing may be left, or a
   compiler cache would keep it. The compiler is a likelier victim of the kernel than we are, or ninja.

   TORCHBUILD_AWAY names the program that sends a compile to another machine, with NAME=VALUE in its environment;
   it stands before the compiler. What must be the same wherever it is compiled, and is not, stays here. */

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

/* What stands behind the letter, up to the end of its line. */
static void rest_of(int file, char *text, size_t size)
{
    size_t length = 0;
    ssize_t got;
    while ((got = read(file, text + length, 1)) != 0)
        if (got > 0 && (text[length] == '\n' || ++length == size - 1))
            break;
        else if (got < 0 && errno != EINTR)
            break;
    text[length] = 0;
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

static int begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static int ends_in(const char *text, const char *const *endings)
{
    size_t length = strlen(text);
    for (; *endings; endings++)
        if (length > strlen(*endings) && strcmp(text + length - strlen(*endings), *endings) == 0)
            return 1;
    return 0;
}

/* Options that make the object another one elsewhere, or leave something beside it. */
static const char *odd(const char *option, int *debug, int *lto)
{
    static const char *const PLAIN[] = {
        "-E", "-S", "-M", "-MM", "-fprofile", "-ftest-coverage", "--coverage", "-coverage", "-fplugin", "-specs",
        "-save-temps", "-frecord-gcc-switches", "-grecord-gcc-switches", "-fdump-", "-ftime-trace", "-fmodule",
        "-frandom-seed", "-Wa,-a", "-wrapper", "-B", "--sysroot", "-fauto-profile", "-include-pch", "-emit-", "@", 0,
    };
    int at;
    if (option[0] == '-' && option[1] == 'm' && strstr(option, "=native"))
        return "native";
    if (begins(option, "-flto"))
        *lto = 1;
    else if (strcmp(option, "-fno-lto") == 0)
        *lto = 0;
    else if (strcmp(option, "-g0") == 0 || strcmp(option, "-ggdb0") == 0)
        *debug = 0;
    else if (begins(option, "-g") && !begins(option, "-gno-"))
        *debug = 1;
    for (at = 0; PLAIN[at]; at++)
        if (strcmp(option, PLAIN[at]) == 0 || (strlen(PLAIN[at]) > 3 && begins(option, PLAIN[at])))
            return "option";
    return option[0] == '@' ? "option" : "";
}

/* Why another machine may not compile it; empty where one may. */
static const char *stays(char **argv)
{
    static const char *const WITH_VALUE[] = {"-o", "-I", "-D", "-U", "-MF", "-MT", "-MQ", "-isystem", "-idirafter",
                                             "-iquote", "-include", "-imacros", "-isysroot", "-Xpreprocessor", 0};
    static const char *const CODE[] = {".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".cp", ".CPP", 0};
    static const char *const ASSEMBLY[] = {".s", ".S", ".asm", ".sx", 0};
    const char *program = strrchr(argv[1], '/'), *word, *why = "";
    int at, value, sources = 0, compiles = 0, debug = 0, lto = 0;
    if (strstr(program ? program : argv[1], "nvcc"))
        return "nvcc";
    for (at = 2; argv[at]; at++) {
        for (value = 0; WITH_VALUE[value] && strcmp(argv[at], WITH_VALUE[value]) != 0; value++)
            continue;
        if (WITH_VALUE[value]) {
            if (!argv[++at])
                return "option";
        } else if (strcmp(argv[at], "-c") == 0)
            compiles = 1;
        else if (strcmp(argv[at], "-x") == 0) {
            if (!argv[at + 1] || strstr(argv[at + 1], "header"))
                return "header";
            if (strcmp(argv[at + 1], "c") != 0 && strcmp(argv[at + 1], "c++") != 0)
                return "language";
            at++;
        } else if (argv[at][0] != '-' && argv[at][0] != '@') {
            if (ends_in(argv[at], ASSEMBLY))
                return "assembly";
            sources += ends_in(argv[at], CODE) ? 1 : 2;
        } else if (*(word = odd(argv[at], &debug, &lto)))
            why = *why ? why : word;
    }
    if (!compiles || sources != 1)
        return "not one source";
    return *why ? why : debug ? "debug" : lto ? "lto" : "";
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
    length = snprintf(text, MOST, "ask\t%d\t%.8s\t%d\t%.4000s\t%s\t%.4000s\t%s", (int)getpid(),
                      threads, codes, argv[1], folder, output, stays(argv));
    if (length < 0 || length > MOST - 2)
        length = snprintf(text, MOST, "ask\t%d\t1\t0\t\t\t\toption", (int)getpid());
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
    execvp(argv[0], argv);
    say("torchbuild: cannot start ");
    say(argv[0]);
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

/* What the program that sends work away says of itself, in the first line that it calls an error. */
static void own_error(int errors, char *text, size_t size)
{
    char all[16384], *line, *end;
    ssize_t got = errors < 0 ? 0 : pread(errors, all, sizeof all - 1, 0);
    all[got < 0 ? 0 : got] = text[0] = 0;
    for (line = all; *line && !text[0]; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        if (memmem(line, (size_t)(end - line), "ERROR: ", 7) || memmem(line, (size_t)(end - line), "rror: ", 6))
            snprintf(text, size, "%.*s", (int)(end - line), line);
    }
    for (line = text; *line; line++)
        if (*line == '\t' || *line == '\n')
            *line = ' ';
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

static int emptied(int errors)
{
    return errors < 0 || (ftruncate(errors, 0) == 0 && lseek(errors, 0, SEEK_SET) == 0);
}

/* Leave out what the program that sends work away says of itself: a compiler cache would keep it. */
static void without_own(int errors)
{
    static char text[65536];
    char *line, *end;
    ssize_t got = errors < 0 ? 0 : pread(errors, text, sizeof text - 1, 0), ignored = 0;
    text[got < 0 ? 0 : got] = 0;
    if (got <= 0 || got == (ssize_t)sizeof text - 1 || !emptied(errors))
        return;
    for (line = text; *line; line = end) {
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        if (!begins(line, "distcc[") && !begins(line, "ICECC["))
            ignored = write(errors, line, (size_t)(end - line));
    }
    (void)ignored;
}

/* Signals that we pass on: who sends them wants no other try. */
static int is_ours(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

/* Compile it elsewhere, as often as we are told to; 'd' where that ended it, else the letter that we are told. */
static char away(int file, char **argv, int errors, struct rusage *usage, int *status)
{
    static char order[4096], text[1024], error[512];
    char said = 'd';
    size_t length;
    while (said == 'd') {
        rest_of(file, order, sizeof order);
        argv[0] = getenv("TORCHBUILD_AWAY");
        if (strchr(order, '='))
            putenv(order);
        memset(usage, 0, sizeof *usage);
        *status = argv[0] ? run(argv, errors, usage) : 0x7f00;
        if (*status == 0)
            without_own(errors);
        if (*status == 0 || (WIFSIGNALED(*status) && is_ours(WTERMSIG(*status))))
            return 'd';
        own_error(errors, error, sizeof error);
        length = (size_t)snprintf(text, sizeof text, "back\t%d\t%s\n",
                                  WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status), error);
        said = emptied(errors) ? asked(file, text, length, 1) : 0;
    }
    return said;
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
        become(argv + 1);
    said = asked(file, text, request(text, argv), 1);
    errors = aside();
    sigaction(SIGINT, &forward, 0);
    sigaction(SIGTERM, &forward, 0);
    sigaction(SIGHUP, &forward, 0);
    if (said == 'd')
        said = away(file, argv, errors, &usage, &status);
    if (said != 'r' && said != 'd') {
        say("torchbuild: the supervisor of this build is gone; nothing more is started\n");
        return 1;
    }
    while (said == 'r') {
        memset(&usage, 0, sizeof usage);
        status = run(argv + 1, errors, &usage);
        if (!was_killed(status, errors))
            break;
        length = (size_t)snprintf(text, sizeof text, "killed\t%ld\n", usage.ru_maxrss);
        if (asked(file, text, length, 1) != 'r')
            break;
        if (!emptied(errors))
            break;
    }
    tell(errors);
    length = (size_t)snprintf(text, sizeof text, "end\t%ld\t%d\n", usage.ru_maxrss,
                              WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    /* A token that was handed on is no longer owed to us: that must be known before ninja uses ours. */
    asked(file, text, length, said == 'd');
    return leave(status);
}
