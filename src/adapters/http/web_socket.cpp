#include "adapters/http/web_socket.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <utility>

#include "adapters/http/curl_options.hpp"
#include "adapters/http/http_connection.hpp"

namespace tessera {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using beast::error_code;

namespace {

using Clock = std::chrono::steady_clock;

// Beast reads ahead into a buffer of at most 1536 bytes, and does not tell what is in it. A message
// that waits there would be seen by no poll(). So a read that may be one into that buffer gets one
// byte at a time. The body of a large message is read directly, to its last bytes.
constexpr std::size_t kReadsAhead = 4096;

// The stream of bytes below the WebSocket: Beast's SyncStream. A call waits until `end`, if there
// is one, for a peer that does not send or receive.
class ByteStream {
  public:
    using executor_type = asio::system_executor;

    explicit ByteStream(std::unique_ptr<HttpConnection> connection)
        : connection_(std::move(connection)) {}

    static executor_type get_executor() { return {}; }

    void limit(std::chrono::milliseconds time) { end_ = Clock::now() + time; }
    void no_limit() { end_ = Clock::time_point::max(); }

    // Whether bytes are there, without waiting. True at the end of the peer's data, too.
    bool has_more() {
        if (at_ < in_size_ || is_over_) return true;
        const auto got = connection_->read_some(in_.data(), in_.size());
        is_over_ = !got;
        at_ = 0;
        in_size_ = got.value_or(0);
        return is_over_ || in_size_ > 0;
    }

    template <class Buffers>
    std::size_t read_some(const Buffers& buffers, error_code& error) {
        error = {};
        while (!has_more()) {
            if (!wait(POLLIN)) return fail_with(error, beast::error::timeout);
        }
        if (at_ == in_size_) return fail_with(error, asio::error::eof);
        const bool is_small = beast::buffer_bytes(buffers) <= kReadsAhead;
        const std::size_t size = asio::buffer_copy(
            buffers, asio::buffer(in_.data() + at_, is_small ? 1 : in_size_ - at_));
        at_ += size;
        return size;
    }
    template <class Buffers>
    std::size_t read_some(const Buffers& buffers) {
        return checked([&](error_code& error) { return read_some(buffers, error); });
    }

    template <class Buffers>
    std::size_t write_some(const Buffers& buffers, error_code& error) {
        error = {};
        for (auto at = asio::buffer_sequence_begin(buffers);
             at != asio::buffer_sequence_end(buffers); ++at) {
            const asio::const_buffer part = *at;
            if (part.size() > 0) return write_part(part, error);
        }
        return 0;
    }
    template <class Buffers>
    std::size_t write_some(const Buffers& buffers) {
        return checked([&](error_code& error) { return write_some(buffers, error); });
    }

    [[nodiscard]] HttpConnection& connection() const { return *connection_; }

  private:
    template <class Call>
    static std::size_t checked(Call call) {
        error_code error;
        const std::size_t size = call(error);
        if (error) throw beast::system_error(error);
        return size;
    }

    template <class Kind>
    static std::size_t fail_with(error_code& error, Kind kind) {
        error = kind;
        return 0;
    }

    std::size_t write_part(asio::const_buffer part, error_code& error) {
        const char* data = static_cast<const char*>(part.data());
        while (true) {
            const auto sent = connection_->write_some(data, part.size());
            if (!sent) return fail_with(error, asio::error::eof);
            if (*sent > 0) return *sent;
            if (!wait(POLLOUT)) return fail_with(error, beast::error::timeout);
        }
    }

    // TLS may have to write in order to read, so the wait is never long.
    [[nodiscard]] bool wait(short events) const {
        constexpr int kMostMs = 100;
        if (Clock::now() >= end_) return false;
        pollfd one{.fd = connection_->fd(), .events = events, .revents = 0};
        ::poll(&one, 1, kMostMs);
        return true;
    }

    std::unique_ptr<HttpConnection> connection_;
    Clock::time_point end_ = Clock::time_point::max();
    std::array<char, std::size_t{32} << 10> in_{};
    std::size_t at_ = 0;
    std::size_t in_size_ = 0;
    bool is_over_ = false;
};

// Beast finds these by the type of the stream. The connection ends with the object.
[[maybe_unused]] void teardown(beast::role_type /*role*/, ByteStream& /*bytes*/,
                               error_code& error) {
    error = {};
}

}  // namespace

class WebSocket::Impl {
  public:
    explicit Impl(std::unique_ptr<HttpConnection> connection) : stream_(std::move(connection)) {
        stream_.read_message_max(kMostBytes);
        stream_.binary(true);
        // Kubernetes takes the first byte of each frame for a channel, not of each message.
        stream_.auto_fragment(false);
    }

    // False: the server declined.
    Result<bool> begin(const std::string& path, const std::string& protocols,
                       std::chrono::milliseconds deadline) {
        const HttpConnection& connection = bytes().connection();
        const HttpEndpoint& endpoint = connection.endpoint();
        stream_.set_option(websocket::stream_base::decorator([&](websocket::request_type& request) {
            request.set(beast::http::field::sec_websocket_protocol, protocols);
            request.set(beast::http::field::user_agent, "tessera/" TESSERA_VERSION);
            if (!connection.authorization().empty())
                request.set(beast::http::field::authorization, connection.authorization());
        }));
        websocket::response_type response;
        error_code error;
        bytes().limit(deadline);
        stream_.handshake(response, authority(endpoint.host, endpoint.port),
                          endpoint.path_prefix + path, error);
        bytes().no_limit();
        if (error == websocket::error::upgrade_declined) return false;
        if (error) return no_answer(error);
        protocol_ = std::string(response[beast::http::field::sec_websocket_protocol]);
        return true;
    }

    Result<bool> receive(const std::function<void(std::string_view)>& on_message) {
        while (bytes().has_more()) {
            beast::flat_buffer message;
            error_code error;
            stream_.read(message, error);
            if (error == websocket::error::closed) return false;
            if (error) return no_answer(error);
            on_message({static_cast<const char*>(message.data().data()), message.size()});
        }
        return true;
    }

    Result<> send(std::string_view message) {
        error_code error;
        stream_.write(asio::buffer(message.data(), message.size()), error);
        if (error) return no_answer(error);
        return {};
    }

    [[nodiscard]] const std::string& protocol() const { return protocol_; }
    [[nodiscard]] int fd() { return bytes().connection().fd(); }

  private:
    ByteStream& bytes() { return stream_.next_layer(); }

    [[nodiscard]] tl::unexpected<Error> no_answer(const error_code& error) {
        return fail(Code::unavailable,
                    fmt::format("the connection to {} has ended: {}",
                                origin(bytes().connection().endpoint()), error.message()));
    }

    websocket::stream<ByteStream, false> stream_;
    std::string protocol_;
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

Result<bool> WebSocket::receive(const std::function<void(std::string_view)>& on_message) {
    return impl_->receive(on_message);
}

Result<> WebSocket::send(std::string_view message) {
    return impl_->send(message);
}

}  // namespace tessera
