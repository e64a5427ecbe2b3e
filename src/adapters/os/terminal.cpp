#include "adapters/os/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace tessera {

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
    ::cfmakeraw(&now);
    ::tcsetattr(fd, TCSADRAIN, &now);
}

RawTerminal::~RawTerminal() {
    if (before_) ::tcsetattr(fd_, TCSADRAIN, &*before_);
}

}  // namespace tessera
