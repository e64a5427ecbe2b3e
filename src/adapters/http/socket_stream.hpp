// A connected socket, buffered in both directions. A deadline is for a whole exchange, a request
// and its answer: a timeout per system call would never expire if a peer sends a byte now and then.
// Another thread can end the wait early (WakeUp).
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace tessera {

using SteadyTime = std::chrono::steady_clock::time_point;

// An eventfd that stays signalled after the first signal(). Any thread may call all functions.
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

// Used by one thread at a time. The destructor sends TLS's closing message if it can without a
// wait.
class SocketStream {
  public:
    // The most bytes that are received and not consumed.
    static constexpr std::size_t kBuffer = std::size_t{64} << 10;

    // The time limits of one exchange.
    struct Limits {
        // From start() on. 0 is over at once.
        std::chrono::milliseconds whole{0};
        // In place of what is left of `whole`, from the first write() after start() or receive()
        // on. 0: `whole` stays in force.
        std::chrono::milliseconds answer{0};
        // The most that remains for reading after `wake` is signalled; what is written may still
        // take its time. 0: the exchange ends at once.
        std::chrono::milliseconds grace{0};
        const WakeUp* wake = nullptr;
    };

    // Does not own `fd`, which must be non-blocking. With `ssl` it uses that session, whose
    // handshake must be complete.
    explicit SocketStream(int fd, SslPtr ssl = {});
    ~SocketStream();
    SocketStream(const SocketStream&) = delete;
    SocketStream& operator=(const SocketStream&) = delete;

    // Begins an exchange: sets its limits, and forgets failures of the one before. `limits.wake`
    // outlives the exchange.
    void start(const Limits& limits);
    // Releases the TLS session, for another stream. Nothing may be left to read or to flush.
    SslPtr release_tls() { return std::move(ssl_); }

    // What was received and not consumed yet; valid until the next receive().
    [[nodiscard]] std::string_view received() const { return {in_.data() + at_, end_ - at_}; }
    void consume(std::size_t bytes) { at_ += bytes; }
    // Whether kBuffer bytes were received and not consumed.
    [[nodiscard]] bool is_full() const { return end_ - at_ == kBuffer; }
    // Sends what write() has kept, and then waits for more bytes, within the limits. Call it only
    // if the buffer is not full. False after a failure, when the time is over, and at the end of
    // the peer's data.
    bool receive();

    // Sends `data`, or keeps it, up to kMostKept bytes, until flush() or receive(). Blocks within
    // the limits. False after a failure, until the next start().
    bool write(std::string_view data);
    // Sends everything that was written so far.
    bool flush();
    // Whether bytes are unread here or in the TLS session, such as those of the next request.
    [[nodiscard]] bool has_more() const {
        return at_ < end_ || (ssl_ && SSL_has_pending(ssl_.get()) == 1);
    }

  private:
    bool send_all(const char* data, std::size_t size);
    ssize_t transfer(bool out, char* data, std::size_t size);
    ssize_t transfer_tls(bool out, char* data, std::size_t size, short& wanted);
    bool wait(short events, bool out);
    void shorten();

    static constexpr std::size_t kMostKept = std::size_t{256} << 10;

    const int fd_;
    SslPtr ssl_;
    Limits limits_;
    SteadyTime end_by_;
    bool answering_ = false;
    bool woken_ = false;
    bool write_failed_ = false;
    std::string out_;
    std::size_t at_ = 0;
    std::size_t end_ = 0;
    std::array<char, kBuffer> in_;  // [at_, end_) is not consumed yet
};

}  // namespace tessera
