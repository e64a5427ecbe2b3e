#include "adapters/workload/kube_port_forward.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <list>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "adapters/http/listening_socket.hpp"
#include "adapters/os/descriptor.hpp"
#include "adapters/workload/pod_web_socket.hpp"
#include "wire/workload/port_forward_protocol.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr ObjectKind kForward{"/api/v1", "pods", "pods/portforward"};
constexpr int kLookMs = 300;
// Of one direction: no more is read while this much waits to be sent.
constexpr std::size_t kMostUnsent = std::size_t{1} << 20;
// The protocol cannot tell the pod that the client sends no more. The rest of an answer may still
// come, but not for ever.
constexpr std::chrono::seconds kForTheRest{10};
// More connections wait until one ends. A browser opens six.
constexpr std::size_t kMostConnections = 64;

// Passes bytes between a client and a pod until either ends.
class Connection {
  public:
    Connection(WebSocket& socket, int client, int port)
        : socket_(socket), client_(client), reader_(port) {}

    Result<> run(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            if (!is_pod_over_ && to_client_.size() < kMostUnsent) TRY_VOID(exchange());
            if (!write_to_client()) return {};
            if (!error_.empty()) return fail(Code::unavailable, error_);
            if (is_pod_over_ && to_client_.empty()) return {};
            if (is_client_over_ && Clock::now() > until_) return {};
            if (!wait()) return {};
        }
        return {};
    }

  private:
    Result<> exchange() {
        const auto open = socket_.exchange([this](std::string_view text) { take(text); });
        if (!open && error_.empty()) return fail(open.error());
        is_pod_over_ = !open || !*open;
        return {};
    }

    void take(std::string_view text) {
        const auto message = reader_.read(text);
        if (!message) error_ = message.error().text;
        if (!message || !*message) return;
        until_ = Clock::now() + kForTheRest;
        std::string& out = (*message)->channel == ForwardChannel::data ? to_client_ : error_;
        out += (*message)->text;
    }

    // False: the client is gone.
    bool write_to_client() {
        while (!to_client_.empty()) {
            const ssize_t size =
                ::send(client_, to_client_.data(), to_client_.size(), MSG_NOSIGNAL);
            if (size < 0) return errno == EAGAIN || errno == EINTR;
            to_client_.erase(0, static_cast<std::size_t>(size));
        }
        return true;
    }

    // Until something comes from either side, or it is time to look again. False: the client is
    // gone.
    bool wait() {
        const bool reads = !is_client_over_ && socket_.unsent() < kMostUnsent;
        std::array<pollfd, 2> all{{{.fd = client_, .events = 0, .revents = 0},
                                   {.fd = socket_.fd(), .events = socket_.events(), .revents = 0}}};
        if (reads) all[0].events |= POLLIN;
        if (!to_client_.empty()) all[0].events |= POLLOUT;
        const bool listens = !is_pod_over_ && to_client_.size() < kMostUnsent;
        ::poll(all.data(), listens ? 2 : 1, listens && socket_.has_more() ? 0 : kLookMs);
        if ((all[0].revents & (POLLERR | POLLHUP)) != 0 && (all[0].revents & POLLIN) == 0)
            return false;
        return !reads || (all[0].revents & POLLIN) == 0 || read_from_client();
    }

    bool read_from_client() {
        std::array<char, std::size_t{16} << 10> data;
        const ssize_t size = ::recv(client_, data.data(), data.size(), 0);
        if (size < 0) return errno == EAGAIN || errno == EINTR;
        if (size == 0) {
            is_client_over_ = true;
            until_ = Clock::now() + kForTheRest;
            return true;
        }
        socket_.send(write_forward_data({data.data(), static_cast<std::size_t>(size)}));
        return true;
    }

    WebSocket& socket_;
    const int client_;
    ForwardReader reader_;
    std::string to_client_;
    std::string error_;  // of the pod's side
    bool is_pod_over_ = false;
    bool is_client_over_ = false;
    Clock::time_point until_;  // with is_client_over_: when no more answer is expected
};

Result<> forward(HttpClient& http, const PodName& pod, int port, int client,
                 const std::stop_token& stop) {
    TRY(const auto socket, open_pod_socket(http, {.path = forward_path(pod, port),
                                                  .ns = pod.ns,
                                                  .protocols = kForwardProtocol,
                                                  .kind = kForward,
                                                  .instead = "kubectl port-forward"}));
    return Connection(*socket, client, port).run(stop);
}

}  // namespace

class PortForward::Impl {
  public:
    Impl(HttpClient& api, ListeningSocket listening, int remote_port, Callbacks callbacks)
        : api_(api),
          listening_(listening.fd),
          port_(listening.port),
          remote_port_(remote_port),
          callbacks_(std::move(callbacks)) {}

    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    // All end at once, and not one after the other.
    ~Impl() {
        for (Worker& worker : workers_)
            worker.thread.request_stop();
    }

    [[nodiscard]] int port() const { return port_; }

    void serve_for(std::chrono::milliseconds time) {
        const auto end = Clock::now() + time;
        while (Clock::now() < end) {
            workers_.remove_if([](const Worker& worker) { return worker.is_done.load(); });
            const bool accepts = !is_short_ && workers_.size() < kMostConnections;
            pollfd one{.fd = listening_.get(), .events = POLLIN, .revents = 0};
            ::poll(&one, accepts ? 1 : 0, kLookMs);
            is_short_ = accepts && (one.revents & POLLIN) != 0 && !accept_one();
        }
    }

  private:
    struct Worker {
        std::atomic<bool> is_done = false;
        Descriptor client{-1};
        std::jthread thread;  // ends before the others do
    };

    // False: there are no descriptors or threads left for a connection.
    bool accept_one() {
        const int fd = ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
        Worker& worker = workers_.emplace_back();
        worker.client.replace(fd);
        try {
            worker.thread = std::jthread([this, &worker](const std::stop_token& stop) {
                const auto pod = callbacks_.find_pod();
                const auto done = pod ? forward(api_, *pod, remote_port_, worker.client.get(), stop)
                                      : Result<>(fail(pod.error()));
                if (!done) callbacks_.warn(done.error().text);
                worker.client.close();
                worker.is_done = true;
            });
        } catch (const std::system_error& error) {
            workers_.pop_back();
            callbacks_.warn(fmt::format("a connection was closed: {}", error.what()));
            return false;
        }
        return true;
    }

    HttpClient& api_;
    const Descriptor listening_;
    const int port_;
    const int remote_port_;
    const Callbacks callbacks_;
    bool is_short_ = false;      // of descriptors or threads: no connection until the next look
    std::list<Worker> workers_;  // ends first
};

PortForward::PortForward(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PortForward::~PortForward() = default;

Result<std::unique_ptr<PortForward>> PortForward::open(HttpClient& api, int local_port,
                                                       int remote_port, Callbacks callbacks) {
    TRY(const ListeningSocket listening, listen_on("127.0.0.1", local_port));
    auto impl = std::make_unique<Impl>(api, listening, remote_port, std::move(callbacks));
    return std::unique_ptr<PortForward>(new PortForward(std::move(impl)));
}

int PortForward::port() const {
    return impl_->port();
}

void PortForward::serve_for(std::chrono::milliseconds time) {
    impl_->serve_for(time);
}

}  // namespace tessera
