#include "wire/shell/shell_protocol.hpp"

#include <openssl/crypto.h>

#include <utility>

#include "wire/text/hmac_sha256.hpp"

namespace tessera {
namespace {

constexpr std::size_t kHeadBytes = 5;

tl::unexpected<Error> broken(const char* why) {
    return fail(Code::unavailable, std::string("it does not speak this protocol: ") + why);
}

bool is_sent_by(ShellSide side, char type) {
    const std::string_view types = side == ShellSide::client ? "CI" : "OEX";
    return types.find(type) != std::string_view::npos;
}

}  // namespace

std::string shell_proof(std::string_view secret, ShellSide side, std::string_view server_nonce,
                        std::string_view client_nonce) {
    std::string text = side == ShellSide::client ? "client" : "server";
    text += server_nonce;
    text += client_nonce;
    return hmac_sha256(secret, text);
}

bool is_shell_proof(std::string_view proof, std::string_view secret, ShellSide side,
                    std::string_view server_nonce, std::string_view client_nonce) {
    const std::string right = shell_proof(secret, side, server_nonce, client_nonce);
    return proof.size() == right.size() &&
           ::CRYPTO_memcmp(proof.data(), right.data(), right.size()) == 0;
}

Result<std::string> read_greeting(std::string_view bytes) {
    if (bytes.size() != kGreetingBytes || !bytes.starts_with(kShellGreeting))
        return broken("it does not begin with the greeting");
    return std::string(bytes.substr(kShellGreeting.size()));
}

std::string write_shell_frame(FrameType type, std::string_view payload) {
    std::string out(1, static_cast<char>(type));
    for (int shift = 24; shift >= 0; shift -= 8)
        out += static_cast<char>(payload.size() >> shift & 0xff);
    out += payload;
    return out;
}

std::string write_exit(int status) {
    return write_shell_frame(FrameType::exit, std::string(1, static_cast<char>(status)));
}

Result<std::optional<ShellFrame>> ShellFrameReader::next() {
    if (buffer_.size() < kHeadBytes) return std::nullopt;
    if (!is_sent_by(sender_, buffer_[0])) return broken("a frame has an unknown type");
    const auto type = static_cast<FrameType>(buffer_[0]);
    std::size_t size = 0;
    for (std::size_t i = 1; i < kHeadBytes; ++i)
        size = size << 8 | static_cast<unsigned char>(buffer_[i]);
    if (size > kMostPayload) return broken("a frame is too long");
    if (size == 0 && type != FrameType::input) return broken("a frame is empty");
    if (type == FrameType::exit && size != 1) return broken("an exit status has one byte");
    if (sender_ == ShellSide::client && (type == FrameType::command) == has_command_)
        return broken("the first frame has the command, and no other one has it");
    if (input_ended_) return broken("there is input after its end");
    if (buffer_.size() < kHeadBytes + size) return std::nullopt;
    ShellFrame out{.type = type, .payload = buffer_.substr(kHeadBytes, size)};
    buffer_.erase(0, kHeadBytes + size);
    if (type == FrameType::command && out.payload.find('\0') != std::string::npos)
        return broken("a command has no NUL");
    has_command_ |= type == FrameType::command;
    input_ended_ = type == FrameType::input && size == 0;
    return out;
}

}  // namespace tessera
