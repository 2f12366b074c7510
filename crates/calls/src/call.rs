//! The calls that are recorded.

macro_rules! calls {
    ($($name:ident = $number:literal $text:literal;)*) => {
        /// A call of the C library that a process makes, or something that happens to it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Call {
            $(#[doc = concat!("`", $text, "`")] $name = $number,)*
        }

        impl Call {
            /// All calls, in the order of their numbers.
            pub const ALL: &'static [Call] = &[$(Call::$name),*];

            /// Return the call of a number in a log.
            #[must_use]
            pub fn of(number: u64) -> Option<Self> {
                match number {
                    $($number => Some(Call::$name),)*
                    _ => None,
                }
            }

            /// Return its name, which is that of the C library's function.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Call::$name => $text,)*
                }
            }
        }
    };
}

calls! {
    Start = 1 "(start)";
    End = 2 "(end)";
    Signal = 3 "(signal)";
    Exit = 4 "exit";
    ClockGettime = 5 "clock_gettime";
    Gettimeofday = 6 "gettimeofday";
    Time = 7 "time";
    Nanosleep = 8 "nanosleep";
    Getrandom = 9 "getrandom";
    Getpid = 10 "getpid";
    Getppid = 11 "getppid";
    Getuid = 12 "getuid";
    Geteuid = 13 "geteuid";
    Getgid = 14 "getgid";
    Getegid = 15 "getegid";
    Credentials = 16 "set…id";
    Uname = 17 "uname";
    Read = 18 "read";
    Pread = 19 "pread";
    Readv = 20 "readv";
    Recv = 21 "recv";
    Recvfrom = 22 "recvfrom";
    Recvmsg = 23 "recvmsg";
    Recvmmsg = 24 "recvmmsg";
    Write = 25 "write";
    Pwrite = 26 "pwrite";
    Writev = 27 "writev";
    Send = 28 "send";
    Sendto = 29 "sendto";
    Sendmsg = 30 "sendmsg";
    Sendmmsg = 31 "sendmmsg";
    Poll = 32 "poll";
    Select = 33 "select";
    EpollWait = 34 "epoll_wait";
    EpollCtl = 35 "epoll_ctl";
    EpollCreate = 36 "epoll_create";
    Socket = 37 "socket";
    Socketpair = 38 "socketpair";
    Accept = 39 "accept";
    Bind = 40 "bind";
    Connect = 41 "connect";
    Listen = 42 "listen";
    Shutdown = 43 "shutdown";
    Setsockopt = 44 "setsockopt";
    Getsockopt = 45 "getsockopt";
    Getsockname = 46 "getsockname";
    Getpeername = 47 "getpeername";
    Ioctl = 48 "ioctl";
    Fcntl = 49 "fcntl";
    Open = 50 "open";
    Fopen = 51 "fopen";
    Close = 52 "close";
    Dup = 53 "dup";
    Pipe = 54 "pipe";
    Eventfd = 55 "eventfd";
    TimerfdCreate = 56 "timerfd_create";
    TimerfdSettime = 57 "timerfd_settime";
    TimerfdGettime = 58 "timerfd_gettime";
    Signalfd = 59 "signalfd";
    InotifyInit = 60 "inotify_init";
    InotifyAddWatch = 61 "inotify_add_watch";
    InotifyRmWatch = 62 "inotify_rm_watch";
    Stat = 63 "stat";
    Fstat = 64 "fstat";
    Access = 65 "access";
    Files = 66 "(change of files)";
    Lseek = 67 "lseek";
    Readlink = 68 "readlink";
    Ftruncate = 69 "ftruncate";
    Fork = 70 "fork";
    Waitpid = 71 "waitpid";
    Kill = 72 "kill";
    Alarm = 73 "alarm";
    Setitimer = 74 "setitimer";
    Getrlimit = 75 "getrlimit";
    Setrlimit = 76 "setrlimit";
    Getrusage = 77 "getrusage";
    Prctl = 78 "prctl";
    Isatty = 79 "isatty";
    Gethostname = 80 "gethostname";
    Capabilities = 81 "capset";
    Timer = 82 "timer";
    Names = 83 "(names of users)";
    Mmap = 84 "mmap";
    Gettid = 85 "gettid";
    Thread = 86 "(thread)";
    Wait = 87 "(wait for a thread)";
    Getdents = 88 "readdir";
    Realpath = 89 "realpath";
    Getcwd = 90 "getcwd";
    Machine = 91 "(question about the machine)";
    Unseen = 92 "(not recorded)";
    Sendfile = 93 "sendfile";
}

impl Call {
    /// Return true if the call returns a time, which its entry has as a difference.
    #[must_use]
    pub fn is_timed(self) -> bool {
        matches!(self, Self::ClockGettime | Self::Gettimeofday | Self::Time)
    }

    /// Return true if the process gets bytes of a descriptor by the call, or a new one, and may wait for them.
    #[must_use]
    pub fn is_input(self) -> bool {
        matches!(
            self,
            Self::Read
                | Self::Readv
                | Self::Recv
                | Self::Recvfrom
                | Self::Recvmsg
                | Self::Recvmmsg
                | Self::Accept
        )
    }

    /// Return true if the process sends or writes bytes by the call.
    #[must_use]
    pub fn is_output(self) -> bool {
        matches!(
            self,
            Self::Write
                | Self::Pwrite
                | Self::Writev
                | Self::Send
                | Self::Sendto
                | Self::Sendmsg
                | Self::Sendmmsg
        )
    }
}
