// Result<T>: a value or an Error. This is the only way that failures travel in this code.
// Exceptions of libraries are caught in the adapter that calls them.
//
//     Result<Bytes> parse(std::string_view text);
//     TRY(const Bytes size, parse("3Gi"));         // returns the error, or binds the value
//     TRY_VOID(write(size));                       // returns the error, or continues
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace tessera {

enum class Code {
#define ERROR_CODE(name, http, exit_status, meaning) name,
#include "base/error_codes.def"
#undef ERROR_CODE
};

std::string_view code_name(Code code);
int http_status(Code code);
int exit_status(Code code);

struct Error {
    Code code = Code::internal;
    std::string text;  // one line, no full stop; says what to do if the reader can do something

    // The same error with `where` in front: Error{..., "EOF"}.in("reading /x") says "reading /x:
    // EOF".
    [[nodiscard]] Error in(std::string_view where) const;

    friend bool operator==(const Error&, const Error&) = default;
};

template <class T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  public:
    using tl::expected<T, Error>::expected;
};

inline tl::unexpected<Error> fail(Code code, std::string text) {
    return tl::unexpected<Error>(Error{code, std::move(text)});
}

inline tl::unexpected<Error> fail(Error error) {
    return tl::unexpected<Error>(std::move(error));
}

}  // namespace tessera

#define TESSERA_JOIN_(a, b) a##b
#define TESSERA_JOIN(a, b) TESSERA_JOIN_(a, b)
#define TESSERA_TRY_(result, declaration, ...)                      \
    auto result = (__VA_ARGS__);                                    \
    if (!result) return ::tessera::fail(std::move(result).error()); \
    declaration = *std::move(result)
#define TRY(declaration, ...) \
    TESSERA_TRY_(TESSERA_JOIN(try_result_, __LINE__), declaration, __VA_ARGS__)
#define TRY_VOID(...)                                              \
    do {                                                           \
        if (auto try_result = (__VA_ARGS__); !try_result)          \
            return ::tessera::fail(std::move(try_result).error()); \
    } while (false)
