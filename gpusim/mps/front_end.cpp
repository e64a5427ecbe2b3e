#include "gpusim/mps/front_end.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "gpusim/mps/answer.hpp"
#include "gpusim/mps/wire.hpp"

namespace gpusim::mps {
namespace {

int connect_to_daemon() {
    const char* directory = pipe_directory();
    int fd = -1;
    if (!connect_to(path_in(directory, kControlPrivileged).text, fd))
        connect_to(path_in(directory, kControl).text, fd);
    return fd;
}

// Sends one command and prints the answer. False if the daemon is gone.
bool ask(int fd, const char* command, AnswerHeader& header) {
    if (!send_all(fd, command, std::strlen(command)) || !send_all(fd, "\n", 1)) return false;
    if (!receive_all(fd, &header, sizeof header)) return false;
    static Answer answer;
    if (header.bytes > sizeof answer.text) return false;
    if (!receive_all(fd, answer.text, header.bytes)) return false;
    std::fwrite(answer.text, 1, header.bytes, stdout);
    std::fflush(stdout);
    return true;
}

}  // namespace

int run_front_end() {
    const int fd = connect_to_daemon();
    if (fd < 0 || !send_all(fd, &kFrontEnd, 1)) {
        std::fputs("Cannot find MPS control daemon process\n", stderr);
        return 1;
    }
    // As the vendor's, which cuts long lines at this size.
    char line[kMaxCommand + 1];
    AnswerHeader header;
    while (header.exit_status == 0 && std::fgets(line, sizeof line, stdin) != nullptr) {
        line[std::strcspn(line, "\n")] = '\0';
        if (!ask(fd, line, header)) {
            std::fputs("Cannot send command to MPS control daemon process\n", stderr);
            return 1;
        }
    }
    close(fd);
    return static_cast<int>(header.exit_status);
}

}  // namespace gpusim::mps
