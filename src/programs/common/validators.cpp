#include "programs/common/validators.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>

namespace tessera {

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
    const std::string range = fmt::format("{} to {}", least, most);
    return {[=](std::string& text) {
                std::string_view digits = text;
                while (digits.starts_with(' '))
                    digits.remove_prefix(1);
                while (digits.ends_with(' '))
                    digits.remove_suffix(1);
                std::uint64_t value = 0;
                const auto read =
                    std::from_chars(digits.data(), digits.data() + digits.size(), value);
                const bool is_whole =
                    read.ec == std::errc() && read.ptr == digits.data() + digits.size();
                if (!is_whole || value < least || value > most)
                    return fmt::format("\"{}\" is not a whole number from {}", text, range);
                // Removes leading zeros, which would make the number octal.
                text = std::to_string(value);
                return std::string();
            },
            range};
}

CLI::Validator between(double least, double most) {
    const std::string range = fmt::format("{} to {}", least, most);
    return {[=](const std::string& text) {
                double value = 0;
                const bool is_number = CLI::detail::lexical_cast(text, value);
                if (is_number && value >= least && value <= most) return std::string();
                return fmt::format("\"{}\" is not a number from {}", text, range);
            },
            "NUMBER from " + range};
}

CLI::Validator file_name() {
    return {[](const std::string& text) {
                return text.empty() ? std::string("is not a file name") : std::string();
            },
            "FILE"};
}

}  // namespace tessera
