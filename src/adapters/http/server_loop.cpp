#include "adapters/http/server_loop.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/mutex.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kNoDescriptor{50};

}  // namespace

ServerLoop::ServerLoop(int listening, Options options, Serve serve)
    : listening_(listening),
      options_(std::move(options)),
      serve_(std::move(serve)),
      poll_(::epoll_create1(EPOLL_CLOEXEC)) {
    TESSERA_CHECK(poll_ >= 0, "an epoll can be made");
    epoll_event event{.events = EPOLLIN, .data = {.fd = ending_.fd()}};
    ::epoll_ctl(poll_, EPOLL_CTL_ADD, ending_.fd(), &event);
    watch(listening_, EPOLL_CTL_ADD);
}

ServerLoop::~ServerLoop() {
    for (auto& [fd, connection] : idle_) {
        connection.tls.reset();
        ::close(fd);
    }
    ::close(listening_);
    ::close(poll_);
}

// For one event, so that only the thread that receives it uses the descriptor.
void ServerLoop::watch(int fd, int operation) {
    epoll_event event{.events = EPOLLIN | EPOLLONESHOT, .data = {.fd = fd}};
    ::epoll_ctl(poll_, operation, fd, &event);
}

void ServerLoop::run(const std::stop_token& stop) {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(options_.threads));
    for (int i = 0; i < options_.threads; ++i)
        threads.emplace_back([this] { work(); });
    Mutex mutex;
    std::condition_variable_any changed;
    MutexLock lock(mutex);
    while (!stop.stop_requested()) {
        changed.wait_for(lock, stop, options_.sweep, [] { return false; });
        end_idle(std::chrono::steady_clock::now());
        options_.on_sweep();
    }
    ending_.signal();
    threads.clear();  // joins
    end_idle(SteadyTime::max());
}

// Several threads wait here. The kernel wakes the one that came last, whose memory is in the cache.
void ServerLoop::work() {
    while (true) {
        epoll_event event{};
        const int ready = ::epoll_wait(poll_, &event, 1, -1);
        if (ready < 0 && errno != EINTR) return;
        if (ready <= 0) continue;
        if (event.data.fd == ending_.fd()) return;
        if (event.data.fd == listening_) {
            accept_all();
        } else {
            answer(event.data.fd);
        }
    }
}

void ServerLoop::accept_all() {
    while (true) {
        const int fd = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (fd < 0) {
            // No connection waits, or no descriptor is free: the next round may find one.
            if (errno != EAGAIN) std::this_thread::sleep_for(kNoDescriptor);
            break;
        }
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        const MutexLock lock(mutex_);
        if (connections_ >= options_.most_connections && !close_one_unauthenticated()) {
            ::close(fd);
            continue;
        }
        ++connections_;
        const SteadyTime now = std::chrono::steady_clock::now();
        wait_for({.fd = fd,
                  .tls = {},
                  .secured = false,
                  .is_unauthenticated = options_.unauthenticated,
                  .end_by = now + options_.first_byte},
                 EPOLL_CTL_ADD);
    }
    watch(listening_, EPOLL_CTL_MOD);
}

// Closes one unauthenticated connection: one with a completed handshake before one that may
// still show a certificate, and among equals the one whose time ends first.
bool ServerLoop::close_one_unauthenticated() {
    const auto order = [](const ServedConnection& c) { return std::pair(!c.secured, c.end_by); };
    ServedConnection* first = nullptr;
    for (auto& [fd, connection] : idle_) {
        const bool goes = connection.is_unauthenticated && connection.end_by != SteadyTime::min();
        if (goes && (first == nullptr || order(connection) < order(*first))) first = &connection;
    }
    if (first == nullptr) return false;
    first->end_by = SteadyTime::min();  // not chosen again
    ::shutdown(first->fd, SHUT_RDWR);
    return true;
}

void ServerLoop::answer(int fd) {
    ServedConnection connection;
    {
        const MutexLock lock(mutex_);
        connection = std::move(idle_.extract(fd).mapped());
    }
    const bool keep = serve_(connection);
    if (!keep) connection.tls.reset();  // before its descriptor is closed
    const MutexLock lock(mutex_);
    if (keep) {
        wait_for(std::move(connection), EPOLL_CTL_MOD);
    } else {
        --connections_;
        ::close(fd);
    }
}

// The mutex is locked, because the thread that gets the event takes the connection and may close
// the descriptor.
void ServerLoop::wait_for(ServedConnection connection, int operation) {
    const int fd = connection.fd;
    idle_.insert_or_assign(fd, std::move(connection));
    watch(fd, operation);
}

// Shuts the connection down. The thread that gets the event closes it, so that no descriptor is
// closed while another thread uses it.
void ServerLoop::end_idle(SteadyTime now) {
    const MutexLock lock(mutex_);
    for (const auto& [fd, connection] : idle_) {
        if (connection.end_by <= now) ::shutdown(fd, SHUT_RDWR);
    }
}

}  // namespace tessera
