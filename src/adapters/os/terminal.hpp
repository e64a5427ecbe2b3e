// The terminal of the user.
#pragma once

#include <termios.h>

#include <optional>

namespace tessera {

struct TerminalSize {
    int columns = 0;
    int rows = 0;

    friend bool operator==(const TerminalSize&, const TerminalSize&) = default;
};

bool is_terminal(int fd);
// Nothing if it is no terminal, or does not tell.
std::optional<TerminalSize> terminal_size(int fd);

// While this object lives, the terminal passes each key on at once and does not show it: another
// terminal, behind a connection, does. A signal that ends the process, but for SIGKILL, restores
// the terminal. Nothing changes if `fd` is no terminal. There may be one such object.
class RawTerminal {
  public:
    explicit RawTerminal(int fd);
    ~RawTerminal();
    RawTerminal(const RawTerminal&) = delete;
    RawTerminal& operator=(const RawTerminal&) = delete;

  private:
    int fd_;
    std::optional<termios> before_;
};

}  // namespace tessera
