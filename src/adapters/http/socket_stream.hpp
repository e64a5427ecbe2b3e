// A connected socket under cpp-httplib's parser: buffered both ways, with one deadline for a whole
// message, and with a wake-up from outside. The library's own stream has timeouts for each call of
// the system alone, which a peer that sends a byte now and then never reaches.
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

// An eventfd: signalled once and for all.
class WakeUp {
  public:
    WakeUp();
    ~WakeUp();
    WakeUp(const WakeUp&) = delete;
    WakeUp& operator=(const WakeUp&) = delete;

    void signal();
    [[nodiscard]] bool is_signalled() const { return signalled_; }
    // For poll(): readable from the signal on.
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
    // How long one exchange may take.
    struct Limits {
        std::chrono::milliseconds whole{0};
        // From the first byte out after one in, where that starts anew.
        std::chrono::milliseconds answer{0};
        // From each byte in on, where that starts anew.
        std::chrono::milliseconds idle{0};
        // What is left of it for reading, once `wake` is signalled.
        std::chrono::milliseconds grace{0};
        const WakeUp* wake = nullptr;
    };

    // Does not own `fd`, which does not block. With `ssl` it speaks that session, whose handshake
    // is done.
    explicit SocketStream(int fd, SslPtr ssl = {});
    ~SocketStream() override;
    SocketStream(const SocketStream&) = delete;
    SocketStream& operator=(const SocketStream&) = delete;

    void start(const Limits& limits);
    // After `connect` began; the reason where it came to nothing.
    Result<> finish_connect();
    // Speaks TLS from here on.
    Result<> start_tls(SslPtr ssl);
    // The session, for another stream to go on with; nothing may be left to read or to flush.
    SslPtr take_tls() { return std::move(ssl_); }

    // All that was written so far.
    bool flush();
    // Bytes of a further message are here already.
    [[nodiscard]] bool has_more() const {
        return at_ < end_ || (ssl_ && SSL_has_pending(ssl_.get()) == 1);
    }
    // Whether the peer has sent anything since start().
    [[nodiscard]] bool heard() const { return heard_; }
    [[nodiscard]] bool write_failed() const { return write_failed_; }
    // What went wrong last; "closed by the peer" where nothing did.
    [[nodiscard]] const std::string& fault() const { return fault_; }

    // httplib::Stream. Both wait within the limits; -1 is a failure, 0 the peer's end.
    ssize_t read(char* into, std::size_t size) override;
    ssize_t write(const char* data, std::size_t size) override;
    using httplib::Stream::write;
    [[nodiscard]] bool is_readable() const override { return true; }
    [[nodiscard]] bool is_writable() const override { return true; }
    void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
    void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
    // The library asks only to refuse what select() could not take; we poll.
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
    // The library reads lines byte by byte and sets no limit to them.
    static constexpr std::size_t kMostInLines = std::size_t{1} << 20;

    const int fd_;
    SslPtr ssl_;
    Limits limits_;
    SteadyTime end_by_;
    bool answering_ = false;
    bool woken_ = false;
    bool heard_ = false;
    bool write_failed_ = false;
    std::size_t in_lines_ = 0;
    std::string fault_;
    std::string out_;
    std::size_t at_ = 0;
    std::size_t end_ = 0;
    std::array<char, kBuffer> in_;  // [at_, end_) is not read yet
};

}  // namespace tessera
