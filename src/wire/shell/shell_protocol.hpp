// The protocol of tessera-mpi-shell, by which the launcher of an MPI job runs commands in its
// workers. docs/formats/mpi-shell.md describes it.
//
//     server: "tessera-shell/1\n", 32 random bytes S
//     client: 32 random bytes C, HMAC(secret, "client" S C)
//     server: HMAC(secret, "server" S C), or 32 zeros: it refuses the client's proof
//
// Then both send frames: a byte with the type, four bytes with the length of the payload, the
// highest first, and the payload. The client sends one command, then input. The server sends output
// and errors, and last the exit status. The end of the connection before that ends the command.
// Nothing is encrypted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

inline constexpr std::string_view kShellGreeting = "tessera-shell/1\n";
inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kProofBytes = 32;
inline constexpr std::size_t kGreetingBytes = kShellGreeting.size() + kNonceBytes;
inline constexpr std::size_t kHelloBytes = kNonceBytes + kProofBytes;
// Linux passes no longer argument to a program.
inline constexpr std::size_t kMostPayload = (std::size_t{128} << 10) - 1;

inline constexpr std::string_view kRefusal{
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", kProofBytes};

enum class ShellSide { client, server };

// What a side proves with: both nonces have 32 bytes.
std::string shell_proof(std::string_view secret, ShellSide side, std::string_view server_nonce,
                        std::string_view client_nonce);

// Its time says nothing of how a wrong proof differs.
bool is_shell_proof(std::string_view proof, std::string_view secret, ShellSide side,
                    std::string_view server_nonce, std::string_view client_nonce);

// The nonce in a greeting, which has kGreetingBytes. unavailable: not this protocol.
Result<std::string> read_greeting(std::string_view bytes);

enum class FrameType : char {
    command = 'C',  // what a shell reads; not empty, without a NUL
    input = 'I',    // empty: its end
    output = 'O',   // not empty
    errors = 'E',   // the same
    exit = 'X',     // one byte, the exit status; 128 and the signal if one ended the command
};

struct ShellFrame {
    FrameType type = FrameType::input;
    std::string payload;

    friend bool operator==(const ShellFrame&, const ShellFrame&) = default;
};

// `payload` has at most kMostPayload bytes.
std::string write_shell_frame(FrameType type, std::string_view payload);
std::string write_exit(int status);

// Reads the frames that `sender` sends, from bytes in pieces of any size. Keeps at most one frame
// beyond what was added last. Used by one thread.
class ShellFrameReader {
  public:
    explicit ShellFrameReader(ShellSide sender) : sender_(sender) {}

    void add(std::string_view bytes) { buffer_ += bytes; }
    // Nothing if the next frame is not complete. After an error (unavailable: the peer does not
    // speak this protocol) there are no more frames.
    Result<std::optional<ShellFrame>> next();

  private:
    ShellSide sender_;
    bool has_command_ = false;
    bool input_ended_ = false;
    std::string buffer_;
};

}  // namespace tessera
