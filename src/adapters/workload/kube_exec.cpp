#include "adapters/workload/kube_exec.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "adapters/os/terminal.hpp"
#include "adapters/workload/pod_web_socket.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr ObjectKind kExec{"/api/v1", "pods", "pods/exec"};
// The last output may come behind the exit status.
constexpr std::chrono::milliseconds kForTheRest{2'000};
// How often to look whether the size of the terminal has changed.
constexpr int kLookMs = 300;
// No more input is read while this much waits to be sent: the command may read slowly.
constexpr std::size_t kMostUnsent = std::size_t{1} << 20;
constexpr std::size_t kMostKept = std::size_t{1} << 20;

// Errors: conflict for EPIPE, if nothing reads the output any more; unavailable otherwise.
Result<> write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t size = ::write(fd, text.data(), text.size());
        if (size >= 0) {
            text.remove_prefix(static_cast<std::size_t>(size));
        } else if (errno == EAGAIN) {  // another process may have made the terminal non-blocking
            pollfd one{.fd = fd, .events = POLLOUT, .revents = 0};
            ::poll(&one, 1, kLookMs);
        } else if (errno != EINTR) {
            const Code code = errno == EPIPE ? Code::conflict : Code::unavailable;
            return fail(code,
                        fmt::format("the output cannot be written: {}", std::strerror(errno)));
        }
    }
    return {};
}

class Exec {
  public:
    // With the input and output of this process.
    Exec(WebSocket& socket, bool has_terminal) : socket_(socket), has_terminal_(has_terminal) {}
    // Without input.
    Exec(WebSocket& socket, ExecOutput& kept, std::chrono::seconds timeout)
        : socket_(socket), has_terminal_(false), kept_(&kept), deadline_(Clock::now() + timeout) {}

    Result<int> run() {
        while (true) {
            send_size();
            const auto open = socket_.exchange([this](std::string_view text) { take(text); });
            if (!output_) return output_.error().code == Code::conflict ? 0 : output_failure();
            if (ended_ && (!open || !*open || Clock::now() >= until_)) return *ended_;
            if (!open) return fail(open.error());
            if (!*open)
                return fail(Code::unavailable, "the API server closed the connection early");
            if (deadline_ && Clock::now() >= *deadline_)
                return fail(Code::unavailable, "the command in the container does not end");
            wait();
        }
    }

  private:
    [[nodiscard]] Result<int> output_failure() const { return fail(output_.error()); }

    void take(std::string_view text) {
        const auto message = read_exec_message(text);
        if (!message || !output_) return;
        until_ = Clock::now() + kForTheRest;
        if (message->channel == ExecChannel::status) ended_ = read_exec_status(message->text);
        const bool is_error = message->channel == ExecChannel::error;
        if (message->channel != ExecChannel::output && !is_error) return;
        output_ = kept_ != nullptr
                      ? keep(message->text, is_error ? kept_->errors : kept_->output)
                      : write_all(is_error ? STDERR_FILENO : STDOUT_FILENO, message->text);
    }

    static Result<> keep(std::string_view text, std::string& kept) {
        kept += text;
        if (kept.size() <= kMostKept) return {};
        return fail(Code::unavailable, "the command prints more than a MiB");
    }

    void send_size() {
        if (!has_terminal_ || ended_) return;
        const auto size = terminal_size(STDOUT_FILENO);
        if (!size || size == size_) return;
        size_ = size;
        socket_.send(write_exec_size(size->columns, size->rows));
    }

    // Until something comes from either side, or it is time to look again. Input is taken although
    // more output is there: Ctrl-C must reach a command that prints without end.
    void wait() {
        std::array<pollfd, 2> all{{{.fd = socket_.fd(), .events = socket_.events(), .revents = 0},
                                   {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}}};
        const bool reads =
            kept_ == nullptr && !is_input_over_ && !ended_ && socket_.unsent() < kMostUnsent;
        ::poll(all.data(), reads ? 2 : 1, socket_.has_more() ? 0 : kLookMs);
        if (reads && all[1].revents != 0) send_input();
    }

    void send_input() {
        std::array<char, std::size_t{16} << 10> data;
        const ssize_t size = ::read(STDIN_FILENO, data.data(), data.size());
        if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
        if (size > 0) {
            socket_.send(write_exec_message(ExecChannel::input,
                                            {data.data(), static_cast<std::size_t>(size)}));
            return;
        }
        is_input_over_ = true;
        if (socket_.protocol() == kExecWithClose) socket_.send(write_exec_input_end());
    }

    WebSocket& socket_;
    const bool has_terminal_;
    ExecOutput* const kept_ = nullptr;
    const std::optional<Clock::time_point> deadline_;
    bool is_input_over_ = false;
    Result<> output_;
    std::optional<TerminalSize> size_;
    std::optional<Result<int>> ended_;
    Clock::time_point until_;  // with ended_: when no more output is expected
};

Result<std::unique_ptr<WebSocket>> open_exec(HttpClient& http, const ExecRequest& request) {
    return open_pod_socket(http, {.path = exec_path(request),
                                  .ns = request.pod.ns,
                                  .protocols = kExecProtocols,
                                  .kind = kExec,
                                  .instead = "kubectl exec"});
}

}  // namespace

Result<int> run_in_container(HttpClient& http, const ExecRequest& request) {
    TRY(const auto socket, open_exec(http, request));
    std::optional<RawTerminal> raw;
    if (request.has_terminal) raw.emplace(STDIN_FILENO);
    return Exec(*socket, request.has_terminal).run();
}

Result<ExecOutput> output_in_container(HttpClient& http, const ExecRequest& request,
                                       std::chrono::seconds timeout) {
    TRY(const auto socket, open_exec(http, request));
    ExecOutput out;
    TRY(out.status, Exec(*socket, out, timeout).run());
    return out;
}

}  // namespace tessera
