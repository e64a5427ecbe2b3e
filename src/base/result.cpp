#include "base/result.hpp"

#include <array>

namespace tessera {
namespace {

struct Row {
    std::string_view name;
    int http;
    int exit_status;
};

constexpr auto kRows = std::to_array<Row>({
#define ERROR_CODE(name, http, exit_status, meaning) {#name, http, exit_status},
#include "base/error_codes.def"
#undef ERROR_CODE
});

const Row& row(Code code) {
    return kRows.at(static_cast<std::size_t>(code));
}

}  // namespace

std::string_view code_name(Code code) {
    return row(code).name;
}
int http_status(Code code) {
    return row(code).http;
}
int exit_status(Code code) {
    return row(code).exit_status;
}

Error Error::in(std::string_view where) const {
    std::string longer(where);
    longer += ": ";
    longer += text;
    return {code, std::move(longer)};
}

}  // namespace tessera
