#include "adapters/http/web_socket.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/beast/websocket.hpp>
#include <random>
#include <utility>

#include "adapters/http/curl_options.hpp"
#include "adapters/http/http_connection.hpp"
#include "adapters/http/web_socket_frames.hpp"

namespace tessera {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using beast::error_code;

namespace {

using Clock = std::chrono::steady_clock;

// The stream of bytes for the handshake: Beast's SyncStream. A call waits until `end`.
class ByteStream {
  public:
    using executor_type = asio::system_executor;

    ByteStream(HttpConnection& connection, Clock::time_point end)
        : connection_(connection), end_(end) {}

    static executor_type get_executor() { return {}; }

    // One byte at a time, so that Beast reads nothing beyond the server's answer.
    template <class Buffers>
    std::size_t read_some(const Buffers& buffers, error_code& error) {
        return transfer(buffers, POLLIN, error, [this](asio::mutable_buffer buffer) {
            return connection_.read_some(static_cast<char*>(buffer.data()), 1);
        });
    }
    template <class Buffers>
    std::size_t write_some(const Buffers& buffers, error_code& error) {
        return transfer(buffers, POLLOUT, error, [this](asio::const_buffer buffer) {
            return connection_.write_some(static_cast<const char*>(buffer.data()), buffer.size());
        });
    }
    template <class Buffers>
    std::size_t read_some(const Buffers& buffers) {
        return checked([&](error_code& error) { return read_some(buffers, error); });
    }
    template <class Buffers>
    std::size_t write_some(const Buffers& buffers) {
        return checked([&](error_code& error) { return write_some(buffers, error); });
    }

  private:
    template <class Call>
    static std::size_t checked(Call call) {
        error_code error;
        const std::size_t size = call(error);
        if (error) throw beast::system_error(error);
        return size;
    }

    // Into, or out of, the first buffer that has a size.
    template <class Buffers, class Call>
    std::size_t transfer(const Buffers& buffers, short events, error_code& error, Call call) {
        error = {};
        auto at = asio::buffer_sequence_begin(buffers);
        while (at != asio::buffer_sequence_end(buffers) && (*at).size() == 0)
            ++at;
        if (at == asio::buffer_sequence_end(buffers)) return 0;
        while (true) {
            const Result<std::size_t> size = call(*at);
            if (size && *size > 0) return *size;
            if (!size) error = asio::error::eof;
            if (size && Clock::now() >= end_) error = beast::error::timeout;
            if (error) return 0;
            // TLS may have to write in order to read, so the wait is never long.
            constexpr int kMostMs = 100;
            pollfd one{.fd = connection_.fd(), .events = events, .revents = 0};
            ::poll(&one, 1, kMostMs);
        }
    }

    HttpConnection& connection_;
    const Clock::time_point end_;
};

// Beast requires it of its streams.
[[maybe_unused]] void teardown(beast::role_type /*role*/, ByteStream& /*bytes*/,
                               error_code& error) {
    error = {};
}

}  // namespace

class WebSocket::Impl {
  public:
    explicit Impl(std::unique_ptr<HttpConnection> connection)
        : connection_(std::move(connection)) {}

    // False: the server declined.
    Result<bool> begin(const std::string& path, const std::string& protocols,
                       std::chrono::milliseconds deadline) {
        const HttpEndpoint& endpoint = connection_->endpoint();
        websocket::stream<ByteStream, false> stream(*connection_, Clock::now() + deadline);
        stream.set_option(websocket::stream_base::decorator([&](websocket::request_type& request) {
            request.set(beast::http::field::sec_websocket_protocol, protocols);
            request.set(beast::http::field::user_agent, "tessera/" TESSERA_VERSION);
            if (!connection_->authorization().empty())
                request.set(beast::http::field::authorization, connection_->authorization());
        }));
        websocket::response_type response;
        error_code error;
        stream.handshake(response, authority(endpoint.host, endpoint.port),
                         endpoint.path_prefix + path, error);
        if (error == websocket::error::upgrade_declined) return false;
        if (error) return has_ended(error.message());
        protocol_ = std::string(response[beast::http::field::sec_websocket_protocol]);
        heard_at_ = asked_at_ = Clock::now();
        return true;
    }

    Result<bool> exchange(const std::function<void(std::string_view)>& on_message) {
        keep_alive();
        write();
        read();
        while (true) {
            const auto message = reader_.next();
            if (!message) return has_ended(message.error().text);
            if (!*message) break;
            const WebSocketMessage& one = **message;
            if (one.kind == FrameKind::ping) add(FrameKind::pong, one.text);
            if (one.kind == FrameKind::close) {
                add(FrameKind::close, one.text);  // the peer waits for it
                write();
                return false;
            }
            if (one.kind == FrameKind::binary || one.kind == FrameKind::text) on_message(one.text);
        }
        if (is_over_) return has_ended("the peer closed it");
        if (Clock::now() - heard_at_ > kSilence) {
            return has_ended(fmt::format("nothing came for {} seconds", kSilence.count()));
        }
        write();
        return true;
    }

    void add(FrameKind kind, std::string_view text) {
        if (is_deaf_) return;
        out_ += write_frame(kind, text, static_cast<std::uint32_t>(random_()));
    }

    [[nodiscard]] const std::string& protocol() const { return protocol_; }
    [[nodiscard]] int fd() const { return connection_->fd(); }
    [[nodiscard]] short events() const {
        return static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT);
    }
    [[nodiscard]] bool has_more() const { return has_more_; }
    [[nodiscard]] std::size_t unsent() const { return out_.size(); }

  private:
    // TLS keeps bytes that it has read, so has_more_ is true until there is nothing to read.
    void read() {
        constexpr int kMostReads = 4;  // so that the caller's other work goes on
        std::array<char, std::size_t{32} << 10> data;
        has_more_ = true;
        for (int i = 0; i < kMostReads && has_more_; ++i) {
            const auto size = connection_->read_some(data.data(), data.size());
            is_over_ |= !size;
            has_more_ = size && *size > 0;
            if (!has_more_) break;
            heard_at_ = asked_at_ = Clock::now();
            reader_.add({data.data(), *size});
        }
    }

    // A peer that takes nothing more may still have sent why.
    void write() {
        std::size_t sent = 0;
        while (sent < out_.size()) {
            const auto size = connection_->write_some(out_.data() + sent, out_.size() - sent);
            is_deaf_ |= !size;
            if (!size || *size == 0) break;
            sent += *size;
        }
        out_.erase(0, is_deaf_ ? out_.size() : sent);
    }

    void keep_alive() {
        if (Clock::now() - asked_at_ < kPing) return;
        asked_at_ = Clock::now();
        add(FrameKind::ping, "");
    }

    [[nodiscard]] tl::unexpected<Error> has_ended(std::string_view reason) const {
        return fail(Code::unavailable, fmt::format("the connection to {} has ended: {}",
                                                   origin(connection_->endpoint()), reason));
    }

    const std::unique_ptr<HttpConnection> connection_;
    std::random_device random_;
    std::string protocol_;
    FrameReader reader_;
    std::string out_;
    Clock::time_point heard_at_;
    Clock::time_point asked_at_;  // or heard
    bool has_more_ = false;
    bool is_over_ = false;  // nothing more comes
    bool is_deaf_ = false;  // nothing can be sent any more
};

WebSocket::WebSocket(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebSocket::~WebSocket() = default;

Result<std::unique_ptr<WebSocket>> WebSocket::open(HttpClient& http, const std::string& path,
                                                   const std::string& protocols,
                                                   std::chrono::milliseconds deadline) {
    TRY(auto connection, http.connect(deadline));
    auto impl = std::make_unique<Impl>(std::move(connection));
    TRY(const bool is_open, impl->begin(path, protocols, deadline));
    return std::unique_ptr<WebSocket>(is_open ? new WebSocket(std::move(impl)) : nullptr);
}

const std::string& WebSocket::protocol() const {
    return impl_->protocol();
}

int WebSocket::fd() const {
    return impl_->fd();
}

short WebSocket::events() const {
    return impl_->events();
}

bool WebSocket::has_more() const {
    return impl_->has_more();
}

Result<bool> WebSocket::exchange(const std::function<void(std::string_view)>& on_message) {
    return impl_->exchange(on_message);
}

void WebSocket::send(std::string_view message) {
    impl_->add(FrameKind::binary, message);
}

std::size_t WebSocket::unsent() const {
    return impl_->unsent();
}

}  // namespace tessera
