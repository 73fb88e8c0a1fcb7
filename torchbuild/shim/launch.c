/* Runs one compiler when the supervisor says so.

   launch COMPILER ARGUMENT...

   TORCHBUILD_SUPERVISOR names the supervisor's socket. Without it, or where nobody listens, the compiler takes
   our place at once: CMake's own checks and a person's shell see no difference. With it a line goes there and
   one letter comes back:

     we say                                              it says
     ask <tab> process <tab> program <tab> folder
         <tab> output <tab> through <tab> why it must
         be compiled here                                r: run; dNAME=VALUE <newline>: send it away
     back <tab> exit code <tab> what was said            r or d, as before: it was sent away and not compiled
     killed <tab> kilobytes                              r: run it again; f: it stays failed
     end <tab> kilobytes <tab> exit code                 nothing; k where it was sent away

   What the compiler says is held back until it has ended: of a run that was killed nothing may be left, or a
   compiler cache would keep it. The compiler is a likelier victim of the kernel than we are, or ninja. Where
   the supervisor goes away the compiler is ended: nobody waits for it any more.

   TORCHBUILD_AWAY names the program that sends a compile to another machine, with NAME=VALUE in its environment;
   it stands before the compiler. What must be the same wherever it is compiled, and is not, stays here.

   A cache whose server starts the compilers (see torchbuild.shim.sccache) is told by TORCHBUILD_CACHE, the
   program; TORCHBUILD_BEHIND, a folder; TORCHBUILD_CALLS, a log. Then COMPILER is one of two:

     /usr/bin/c++            ninja calls: we note output and source, and become `cache BEHIND/usr/bin/c++ ...`
     BEHIND/usr/bin/c++      a script whose interpreter we are; the server calls it where it has nothing: we ask,
                             and run /usr/bin/c++. What only preprocesses asks nobody.

   The second is not below ninja. It says who is, as `through`: TORCHBUILD_CLIENT, which the first has set to its
   own number, comes to it by way of the server.

   The steps of nvcc are started by that server itself, where nobody can stand before them. So for a device
   compiler we ask before the cache is asked, and `through` is the word blind: nothing that is seen of us is its
   memory. */

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
#define BLIND "blind"

static const char *const KILLED[] = {
    "Killed signal terminated program", /* gcc, of the compiler proper */
    "internal compiler error: Killed",  /* gcc before 9 */
    "command: Killed",                  /* clang */
    "died due to signal 9",             /* nvcc */
    "\nKilled\n",                       /* the shell that nvcc has start its programs */
    "terminated with signal 9",         /* collect2 and lto-wrapper */
    "Compiler killed by signal 9",      /* sccache, of a step of nvcc */
    "virtual memory exhausted",         /* cc1plus under a limit */
    "cc1plus: out of memory allocating",
    "cc1: out of memory allocating",
    "LLVM ERROR: out of memory",
    "Memory allocation failure", /* ptxas */
    0,
};
static volatile sig_atomic_t child, gone;
static int supervisor = -1;

static void pass_on(int number)
{
    if (child > 0)
        kill((pid_t)child, number);
}

/* Whether the supervisor has closed its end. */
static int hung_up(void)
{
    char letter;
    return recv(supervisor, &letter, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Ends what we run. Ninja makes each edge a group of its own, led by us or by the shell that started us: then
   the programs behind the driver go too. */
static void end_all(void)
{
    if (getpgrp() == getpid() || getpgrp() == getppid())
        kill(0, SIGTERM);
    pass_on(SIGTERM);
}

static void heard(int number)
{
    int before = errno;
    (void)number;
    if (hung_up()) {
        gone = 1;
        end_all();
    }
    errno = before;
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

/* A tab or a new line would be taken for the end of a word. */
static const char *plain(char *to, size_t size, const char *text)
{
    char *at;
    snprintf(to, size, "%s", text ? text : "");
    for (at = to; *at; at++)
        if (*at == '\t' || *at == '\n')
            *at = '?';
    return to;
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
    int at, value, sources = 0, is_compile = 0, debug = 0, lto = 0;
    if (strstr(program ? program : argv[1], "nvcc"))
        return "nvcc";
    for (at = 2; argv[at]; at++) {
        for (value = 0; WITH_VALUE[value] && strcmp(argv[at], WITH_VALUE[value]) != 0; value++)
            continue;
        if (WITH_VALUE[value]) {
            if (!argv[++at])
                return "option";
        } else if (strcmp(argv[at], "-c") == 0)
            is_compile = 1;
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
    if (!is_compile || sources != 1)
        return "not one source";
    return *why ? why : debug ? "debug" : lto ? "lto" : "";
}

static int has(char **argv, const char *option)
{
    int at;
    for (at = 2; argv[at]; at++)
        if (strcmp(argv[at], option) == 0)
            return 1;
    return 0;
}

/* What stands beside the last of an option; empty where nothing does. */
static const char *value_of(char **argv, const char *option)
{
    int at, last = 0;
    for (at = 1; argv[at] && argv[at + 1]; at++)
        if (strcmp(argv[at], option) == 0)
            last = at + 1;
    return last ? argv[last] : "";
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
    const char *path = getenv("TORCHBUILD_CALLS");
    char folder[4096], text[MOST];
    int file, length;
    if (!path || !getcwd(folder, sizeof folder) || (file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)) < 0)
        return;
    length = snprintf(text, sizeof text, "%s\t%s\t%s\n", folder, value_of(argv, "-o"), value_of(argv, "-c"));
    if (length > 0 && length < (int)sizeof text) {
        ssize_t ignored = write(file, text, (size_t)length);
        (void)ignored;
    }
    close(file);
}

/* Says whom a cache's server works for, to the one of us that it starts. */
static void name_client(void)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)getpid());
    setenv("TORCHBUILD_CLIENT", text, 1);
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

static size_t request(char *text, char **argv, const char *through)
{
    char here[4096], folder[4096], program[4096], output[4096];
    const char *said = value_of(argv, "-o");
    if (!getcwd(here, sizeof here))
        here[0] = 0;
    plain(folder, sizeof folder, here);
    plain(program, sizeof program, argv[1]);
    plain(output, sizeof output, said);
    return (size_t)snprintf(text, MOST, "ask\t%d\t%s\t%s\t%s\t%.16s\t%s\n", (int)getpid(), program, folder,
                            output, through, stays(argv));
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

/* The kernel chooses us before what has not raised its number: ninja, the supervisor and the tool, whatever
   number they were started with. */
static void be_chosen_first(void)
{
    char text[16] = "";
    int file = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC), own;
    ssize_t ignored;
    if (file < 0)
        return;
    ignored = pread(file, text, sizeof text - 1, 0);
    own = atoi(text) + 500;
    snprintf(text, sizeof text, "%d", own > 1000 ? 1000 : own);
    ignored = write(file, text, strlen(text));
    (void)ignored;
    close(file);
}

static int run(char **argv, int errors, struct rusage *usage)
{
    pid_t mine = getpid(), made = fork();
    int status;
    if (made == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != mine)
            _exit(1);
        be_chosen_first();
        if (errors >= 0)
            dup2(errors, 2);
        become(argv);
    }
    if (made < 0)
        return 256;
    child = made;
    if (gone)
        end_all();
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
    text[0] = '\n'; /* so that each line has one before it */
    got = pread(errors, text + 1, sizeof text - 1, from);
    for (at = 0; KILLED[at]; at++)
        if (memmem(text, got < 0 ? 0 : (size_t)got + 1, KILLED[at], strlen(KILLED[at])))
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
        if (!begins(line, "distcc[") && !begins(line, "ICECC[") && !begins(line, "sccache: "))
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
    char said = 'd', *value;
    size_t length;
    while (said == 'd') {
        rest_of(file, order, sizeof order);
        argv[0] = getenv("TORCHBUILD_AWAY");
        if ((value = strchr(order, '='))) {
            *value++ = 0;
            setenv(order, value, 1);
        }
        memset(usage, 0, sizeof *usage);
        *status = argv[0] ? run(argv, errors, usage) : 0x7f00;
        unsetenv(order); /* what is compiled here after all is told of no machine */
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
    struct sigaction forward = {.sa_handler = pass_on}, watch = {.sa_handler = heard};
    struct rusage usage;
    int file, errors, status, is_blind = 0, before;
    size_t length;
    char said, *longer[argc + 2];
    const char *through = 0;
    if (argc < 2) {
        say("usage: launch COMPILER ARGUMENT...\n");
        return 2;
    }
    before = cached(argv, longer);
    if (before == 1 && !(is_blind = is_device(argv[1]))) {
        name_client();
        become(longer + 1);
    }
    if (before == 2) {
        through = getenv("TORCHBUILD_CLIENT");
        setpgid(0, 0); /* as ninja has it for those that it starts: see end_all */
    }
    file = before < 0 ? -1 : reach(getenv("TORCHBUILD_SUPERVISOR"));
    if (file < 0)
        become(is_blind ? longer + 1 : argv + 1);
    said = asked(file, text, request(text, argv, is_blind ? BLIND : through ? through : ""), 1);
    if (is_blind)
        argv = longer;
    errors = aside();
    sigaction(SIGINT, &forward, 0);
    sigaction(SIGTERM, &forward, 0);
    sigaction(SIGHUP, &forward, 0);
    sigaction(SIGIO, &watch, 0);
    supervisor = file;
    if (fcntl(file, F_SETOWN, getpid()) != 0 || fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_ASYNC) != 0 ||
        hung_up())
        gone = 1;
    if (said == 'd')
        said = away(file, argv, errors, &usage, &status);
    if (said != 'r' && said != 'd') {
        say("torchbuild: the supervisor of this build is gone; nothing more is started\n");
        return 1;
    }
    while (said == 'r') {
        memset(&usage, 0, sizeof usage);
        status = run(argv + 1, errors, &usage);
        if (gone || !was_killed(status, errors))
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
