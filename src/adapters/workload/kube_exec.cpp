#include "adapters/workload/kube_exec.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "adapters/http/web_socket.hpp"
#include "adapters/kube/kube_call.hpp"
#include "adapters/os/terminal.hpp"
#include "adapters/workload/workload_calls.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr ObjectKind kExec{"/api/v1", "pods", "pods/exec"};
constexpr std::chrono::milliseconds kDeadline{20'000};
// The last output may come behind the exit status.
constexpr std::chrono::milliseconds kForTheRest{2'000};
// How often to look whether the size of the terminal has changed.
constexpr int kLookMs = 300;

// False if nothing reads the output any more.
bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t size = ::write(fd, text.data(), text.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
}

class Exec {
  public:
    Exec(WebSocket& socket, bool has_terminal) : socket_(socket), has_terminal_(has_terminal) {}

    Result<int> run() {
        while (true) {
            TRY_VOID(send_size());
            const auto open = socket_.receive([this](std::string_view text) { take(text); });
            if (ended_ && (!open || !*open || Clock::now() >= until_)) return *ended_;
            if (!open) return fail(open.error());
            if (!*open)
                return fail(Code::unavailable, "the API server closed the connection early");
            if (is_output_closed_) return 0;
            TRY_VOID(wait());
        }
    }

  private:
    void take(std::string_view text) {
        const auto message = read_exec_message(text);
        if (!message) return;
        if (message->channel == ExecChannel::status) {
            ended_ = read_exec_status(message->text);
            until_ = Clock::now() + kForTheRest;
        } else if (message->channel == ExecChannel::output) {
            is_output_closed_ |= !write_all(STDOUT_FILENO, message->text);
        } else if (message->channel == ExecChannel::error) {
            (void)write_all(STDERR_FILENO, message->text);
        }
    }

    Result<> send_size() {
        if (!has_terminal_) return {};
        const auto size = terminal_size(STDOUT_FILENO);
        if (!size || size == size_) return {};
        size_ = size;
        return socket_.send(write_exec_size(size->columns, size->rows));
    }

    // Until something comes from either side, or it is time to look again.
    Result<> wait() {
        std::array<pollfd, 2> all{{{.fd = socket_.fd(), .events = POLLIN, .revents = 0},
                                   {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}}};
        const bool reads = !is_input_over_ && !ended_;
        ::poll(all.data(), reads ? 2 : 1, kLookMs);
        return reads && all[1].revents != 0 ? send_input() : Result<>();
    }

    Result<> send_input() {
        std::array<char, std::size_t{16} << 10> data;
        const ssize_t size = ::read(STDIN_FILENO, data.data(), data.size());
        if (size < 0 && (errno == EINTR || errno == EAGAIN)) return {};
        if (size > 0) {
            return socket_.send(write_exec_message(ExecChannel::input,
                                                   {data.data(), static_cast<std::size_t>(size)}));
        }
        is_input_over_ = true;
        if (socket_.protocol() != kExecWithClose) return {};
        return socket_.send(write_exec_input_end());
    }

    WebSocket& socket_;
    const bool has_terminal_;
    bool is_input_over_ = false;
    bool is_output_closed_ = false;
    std::optional<TerminalSize> size_;
    std::optional<Result<int>> ended_;
    Clock::time_point until_;
};

// Why the API server declined to run a command.
Error reason_of(HttpClient& http, const std::string& path) {
    const auto answer = http.send({.method = "GET", .path = path}, kDeadline);
    return answer ? kube_error(*answer, path) : answer.error();
}

}  // namespace

Result<int> run_in_container(HttpClient& http, const ExecRequest& request) {
    const std::string path = exec_path(request);
    TRY(const auto socket, WebSocket::open(http, path, std::string(kExecProtocols), kDeadline));
    if (!socket) return fail(with_right(reason_of(http, path), "create", kExec, request.pod.ns));
    std::optional<RawTerminal> raw;
    if (request.has_terminal) raw.emplace(STDIN_FILENO);
    return Exec(*socket, request.has_terminal).run();
}

}  // namespace tessera
