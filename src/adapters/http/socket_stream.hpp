// A connected socket for cpp-httplib's parser: buffered in both directions, with one deadline for a
// whole message, and with a wake-up from another thread. The library's own stream has a timeout per
// system call only, which never expires if a peer sends a byte now and then.
#pragma once

#include <httplib.h>
#include <openssl/ssl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"

namespace tessera {

using SteadyTime = std::chrono::steady_clock::time_point;

// An eventfd that is signalled once and stays so.
class WakeUp {
  public:
    WakeUp();
    ~WakeUp();
    WakeUp(const WakeUp&) = delete;
    WakeUp& operator=(const WakeUp&) = delete;

    void signal();
    [[nodiscard]] bool is_signalled() const { return signalled_; }
    // For poll(): readable after the signal.
    [[nodiscard]] int fd() const { return fd_; }

  private:
    int fd_;
    std::atomic<bool> signalled_ = false;
};

struct SslDeleter {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, SslDeleter>;

// Owned by one thread at a time.
class SocketStream final : public httplib::Stream {
  public:
    // The time limits of one exchange.
    struct Limits {
        std::chrono::milliseconds whole{0};
        // The time for an answer: restarts at the first byte written after a read.
        std::chrono::milliseconds answer{0};
        // The time that remains for reading after `wake` is signalled.
        std::chrono::milliseconds grace{0};
        const WakeUp* wake = nullptr;
    };

    // Does not own `fd`, which must be non-blocking. With `ssl` it uses that session, whose
    // handshake must be complete.
    explicit SocketStream(int fd, SslPtr ssl = {});
    ~SocketStream() override;
    SocketStream(const SocketStream&) = delete;
    SocketStream& operator=(const SocketStream&) = delete;

    void start(const Limits& limits);
    // Gives up the session, for use by another stream; nothing may be left to read or to flush.
    SslPtr take_tls() { return std::move(ssl_); }

    // Sends everything that was written so far.
    bool flush();
    // Whether bytes of a further message were already received.
    [[nodiscard]] bool has_more() const {
        return at_ < end_ || (ssl_ && SSL_has_pending(ssl_.get()) == 1);
    }

    // httplib::Stream. Both block within the limits. -1 is a failure, 0 the end of the peer's data.
    ssize_t read(char* into, std::size_t size) override;
    ssize_t write(const char* data, std::size_t size) override;
    using httplib::Stream::write;
    [[nodiscard]] bool is_readable() const override { return true; }
    [[nodiscard]] bool is_writable() const override { return true; }
    void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
    void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
    // The library uses it only to refuse descriptors that are too large for select(); this class
    // polls.
    [[nodiscard]] socket_t socket() const override { return 0; }

  private:
    ssize_t receive();
    bool send_all(const char* data, std::size_t size);
    ssize_t transfer(bool out, char* data, std::size_t size);
    ssize_t transfer_tls(bool out, char* data, std::size_t size, short& wanted);
    bool wait(short events, bool out);
    void shorten();

    static constexpr std::size_t kBuffer = std::size_t{64} << 10;
    static constexpr std::size_t kGathered = std::size_t{256} << 10;
    // The library reads lines byte by byte and has no limit for them.
    static constexpr std::size_t kMostInLines = std::size_t{1} << 20;

    const int fd_;
    SslPtr ssl_;
    Limits limits_;
    SteadyTime end_by_;
    bool answering_ = false;
    bool woken_ = false;
    bool write_failed_ = false;
    std::size_t in_lines_ = 0;
    std::string out_;
    std::size_t at_ = 0;
    std::size_t end_ = 0;
    std::array<char, kBuffer> in_;  // [at_, end_) is not consumed yet
};

}  // namespace tessera
