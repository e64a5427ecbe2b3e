#include "adapters/http/request_reader.hpp"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <limits>

namespace tessera {

namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10;

std::string_view view_of(boost::beast::string_view text) {
    return {text.data(), text.size()};
}
boost::beast::string_view beast_view(std::string_view text) {
    return {text.data(), text.size()};
}

std::optional<char> hex_value(char c) {
    if (c >= '0' && c <= '9') return static_cast<char>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<char>(c - 'a' + 10);
    if (c >= 'A' && c <= 'F') return static_cast<char>(c - 'A' + 10);
    return std::nullopt;
}

// RFC 3986, section 2.1. A percent sign that begins no such sequence stands for itself.
std::string decode_percent(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto high =
            text[i] == '%' && i + 2 < text.size() ? hex_value(text[i + 1]) : std::optional<char>();
        const auto low = high ? hex_value(text[i + 2]) : std::optional<char>();
        if (!low) {
            out += text[i];
            continue;
        }
        out += static_cast<char>(*high * 16 + *low);
        i += 2;
    }
    return out;
}

ReadFault fault_of(const error_code& error) {
    const bool is_too_large = error == http::error::header_limit;
    return {is_too_large ? 431 : 400};
}

}  // namespace

struct RequestReader::Parser {
    http::request_parser<http::buffer_body> of;
    std::size_t head_bytes = 0;  // that were parsed; Beast limits only those that were not

    // Parses what the stream has received, and reads more if that is not enough. Succeeds as soon
    // as the parser made progress, or has no place for more of the body.
    std::optional<ReadFault> step(SocketStream& stream) {
        while (true) {
            const std::string_view received = stream.received();
            error_code error;
            std::size_t used = 0;
            if (received.empty()) {
                error = http::error::need_more;
            } else {
                used = of.put(boost::asio::buffer(received.data(), received.size()), error);
            }
            stream.consume(used);
            if (!of.is_header_done()) {
                head_bytes += used;
                if (head_bytes + stream.received().size() >= SocketStream::kBuffer)
                    return ReadFault{431};
            }
            if (!error || error == http::error::need_buffer) return std::nullopt;
            if (error != http::error::need_more) return fault_of(error);
            if (stream.is_full()) return ReadFault{431};
            if (!stream.receive()) return ReadFault{0};
        }
    }
};

RequestReader::RequestReader(SocketStream& stream)
    : stream_(stream), parser_(std::make_unique<Parser>()) {
    // The server judges the size of a body after it knows its sender. (Beast 1.74 refuses every
    // body if the limit is none.)
    parser_->of.body_limit(std::numeric_limits<std::uint64_t>::max());
    parser_->of.header_limit(SocketStream::kBuffer);
}
RequestReader::~RequestReader() = default;

std::optional<ReadFault> RequestReader::read_head() {
    while (!parser_->of.is_header_done()) {
        if (const auto fault = parser_->step(stream_)) return fault;
    }
    return std::nullopt;
}

std::string_view RequestReader::method() const {
    return view_of(parser_->of.get().method_string());
}

std::string RequestReader::path() const {
    const std::string_view target = view_of(parser_->of.get().target());
    return decode_percent(target.substr(0, target.find_first_of("?#")));
}

std::string RequestReader::query() const {
    const std::string_view target = view_of(parser_->of.get().target());
    const std::string_view sent = target.substr(0, target.find('#'));
    const std::size_t begin = sent.find('?');
    return begin == std::string_view::npos ? std::string() : std::string(sent.substr(begin + 1));
}

std::string_view RequestReader::field(std::string_view name) const {
    return view_of(parser_->of.get()[beast_view(name)]);
}

bool RequestReader::has_field(std::string_view name) const {
    return parser_->of.get().find(beast_view(name)) != parser_->of.get().end();
}

bool RequestReader::is_repeated(std::string_view name) const {
    return parser_->of.get().count(beast_view(name)) > 1;
}

std::optional<std::uint64_t> RequestReader::announced_size() const {
    const auto size = parser_->of.content_length();
    return size ? std::optional<std::uint64_t>(*size) : std::nullopt;
}

bool RequestReader::keeps_alive() const {
    return parser_->of.keep_alive();
}

bool RequestReader::is_http_1_0() const {
    return parser_->of.get().version() == 10;
}

bool RequestReader::is_whole() const {
    // The size of a body in another transfer coding is not known.
    const bool is_framed = parser_->of.chunked() || !has_field("Transfer-Encoding");
    return parser_->of.is_done() && is_framed;
}

std::optional<ReadFault> RequestReader::read_body(
    const std::function<bool(std::string_view)>& take) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): written first
    std::array<char, kPiece> piece;
    while (!parser_->of.is_done()) {
        auto& body = parser_->of.get().body();
        body.data = piece.data();
        body.size = piece.size();
        if (const auto fault = parser_->step(stream_)) return fault;
        const std::size_t got = piece.size() - body.size;
        if (got > 0 && !take({piece.data(), got})) return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace tessera
