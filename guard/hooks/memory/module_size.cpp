#include "guard/hooks/memory/module_size.hpp"

#include "guard/hooks/memory/pitch.hpp"
#include "guard/process/holdings.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {
namespace {

bool is_space(char letter) {
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
}

bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

// Moves on and returns true if `text` begins with the word.
bool skip(const char*& text, const char* word) {
    const char* at = text;
    for (; *word != '\0'; word++)
        if (*at++ != *word) return false;
    text = at;
    return true;
}

bool skip_comment(const char*& text) {
    if (skip(text, "//")) {
        while (*text != '\0' && *text != '\n')
            text++;
        return true;
    }
    if (!skip(text, "/*")) return false;
    while (*text != '\0' && !skip(text, "*/"))
        text++;
    return true;
}

// PTX begins with comments and a version.
bool is_ptx(const char* text) {
    while (is_space(*text) || skip_comment(text))
        if (is_space(*text)) text++;
    return skip(text, ".version");
}

std::uint64_t read_number(const char*& text) {
    std::uint64_t number = 0;
    for (; is_digit(*text); text++) {
        const auto digit = static_cast<std::uint64_t>(*text - '0');
        if (__builtin_add_overflow(product(number, 10), digit, &number)) number = ~std::uint64_t{0};
    }
    return number;
}

// From behind ".global" to the end of the declaration: ".align 8 .b8 table[16][256] = ...;". The
// number at the end of the type is the bits of an element; a vector has two or four elements.
std::uint64_t read_declaration(const char*& text) {
    std::uint64_t bytes = 0;
    std::uint64_t count = 1;
    bool is_vector_of_2 = false;
    bool is_vector_of_4 = false;
    for (; *text != '\0' && *text != ';' && *text != '=' && *text != '{'; text++) {
        if (skip(text, ".v2")) is_vector_of_2 = true;
        if (skip(text, ".v4")) is_vector_of_4 = true;
        if (skip(text, ".align")) {
            while (is_space(*text))
                text++;
            read_number(text);
        }
        const bool is_type = text[0] == '.' && text[1] != '\0' && is_digit(text[2]);
        if (is_type && bytes == 0) {
            text += 2;
            bytes = read_number(text) / 8;
        }
        if (*text == '[') {
            text++;
            const bool has_length = is_digit(*text);
            const std::uint64_t length = read_number(text);
            if (has_length) count = product(count, length);
        }
        if (*text == '\0' || *text == ';') break;
    }
    const std::uint64_t each = bytes * (is_vector_of_4 ? 4U : is_vector_of_2 ? 2U : 1U);
    const std::uint64_t all = product(each, count);
    return Holdings::shares_units(all) ? all : rounded_up(all, kAllocationUnitBytes);
}

}  // namespace

std::uint64_t ptx_global_bytes(const char* image) {
    if (image == nullptr || !is_ptx(image)) return 0;
    std::uint64_t sum = 0;
    bool is_statement = true;  // and not in the middle of an instruction: ld.global.u32
    bool is_extern = false;
    for (const char* text = image; *text != '\0';) {
        if (skip_comment(text)) continue;
        if (is_statement && skip(text, ".extern")) is_extern = true;
        if (is_statement && skip(text, ".global")) {
            const std::uint64_t bytes = read_declaration(text);
            if (!is_extern && __builtin_add_overflow(sum, bytes, &sum)) return ~std::uint64_t{0};
            continue;
        }
        if (*text == ';' || *text == '}') is_extern = false;
        is_statement = is_space(*text) || *text == ';' || *text == '}';
        if (*text != '\0') text++;
    }
    return sum;
}

}  // namespace tessera::guard
