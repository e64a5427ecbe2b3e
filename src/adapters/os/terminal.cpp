#include "adapters/os/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace tessera {
namespace {

constexpr std::array<int, 3> kSignals{SIGTERM, SIGHUP, SIGINT};

// What a signal handler restores.
int raw_fd = -1;
termios before_raw{};

// Only calls that a signal handler may make.
extern "C" void restore_and_end(int signal) {
    ::tcsetattr(raw_fd, TCSANOW, &before_raw);
    std::signal(signal, SIG_DFL);
    ::raise(signal);
}

void handle_signals(void (*handler)(int)) {
    for (const int signal : kSignals)
        std::signal(signal, handler);
}

}  // namespace

bool is_terminal(int fd) {
    return ::isatty(fd) == 1;
}

std::optional<TerminalSize> terminal_size(int fd) {
    winsize size{};
    if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
    return TerminalSize{size.ws_col, size.ws_row};
}

RawTerminal::RawTerminal(int fd) : fd_(fd) {
    termios now{};
    if (::tcgetattr(fd, &now) != 0) return;
    before_ = now;
    raw_fd = fd;
    before_raw = now;
    handle_signals(restore_and_end);
    ::cfmakeraw(&now);
    ::tcsetattr(fd, TCSADRAIN, &now);
}

RawTerminal::~RawTerminal() {
    if (!before_) return;
    handle_signals(SIG_DFL);
    ::tcsetattr(fd_, TCSADRAIN, &*before_);
}

}  // namespace tessera
